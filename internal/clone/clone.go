// Package clone copies values deeply, so that what a caller holds and what a
// store holds never share memory.
//
//	stored := clone.Of(event)
package clone

import (
	"reflect"
	"slices"
)

// Of returns a deep copy of v: pointers, maps, slices and interfaces reachable
// through exported fields are copied; functions, channels and unexported
// fields are shared. Values must not contain cycles.
func Of[T any](v T) T {
	deepen(reflect.ValueOf(&v).Elem())
	return v
}

// deepen replaces whatever v, a settable shallow copy, shares with its
// original.
func deepen(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fresh := reflect.New(v.Type().Elem())
			fresh.Elem().Set(v.Elem())
			deepen(fresh.Elem())
			v.Set(fresh)
		}
	case reflect.Interface:
		if !v.IsNil() {
			fresh := reflect.New(v.Elem().Type()).Elem()
			fresh.Set(v.Elem())
			deepen(fresh)
			v.Set(fresh)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				deepen(field)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			deepen(v.Index(i))
		}
	case reflect.Slice:
		deepenSlice(v)
	case reflect.Map:
		deepenMap(v)
	}
}

func deepenSlice(v reflect.Value) {
	if v.IsNil() {
		return
	}
	if bytes, ok := v.Interface().([]byte); ok {
		v.Set(reflect.ValueOf(slices.Clone(bytes)))
		return
	}
	fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(fresh, v)
	for i := range fresh.Len() {
		deepen(fresh.Index(i))
	}
	v.Set(fresh)
}

func deepenMap(v reflect.Value) {
	if v.IsNil() {
		return
	}
	fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
	value := reflect.New(v.Type().Elem()).Elem()
	for it := v.MapRange(); it.Next(); {
		value.Set(it.Value())
		deepen(value)
		fresh.SetMapIndex(it.Key(), value)
	}
	v.Set(fresh)
}
