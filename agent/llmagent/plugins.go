package llmagent

import (
	"reflect"
	"slices"

	"github.com/recap-adk/recap/agent"
)

// plugin is what a plugin of the run, see agent.Plugin, has for the agents of
// this package.
type plugin interface {
	BeforeModelCallback() BeforeModelCallback
	AfterModelCallback() AfterModelCallback
	OnModelErrorCallback() OnModelErrorCallback
	BeforeToolCallback() BeforeToolCallback
	AfterToolCallback() AfterToolCallback
	OnToolErrorCallback() OnToolErrorCallback
}

// callbacks are those of the run's plugins and then the agent's own, without
// the nil ones.
func callbacks[C any](ctx agent.InvocationContext, of func(plugin) C, own []C) []C {
	var all []C
	for _, p := range ctx.Invocation().Plugins() {
		if p, ok := p.(plugin); ok {
			all = append(all, of(p))
		}
	}
	return slices.DeleteFunc(append(all, own...), func(c C) bool { return reflect.ValueOf(c).IsNil() })
}
