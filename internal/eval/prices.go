package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Prices is a table of what models cost.
type Prices struct {
	// Date says of when the prices are, such as 2026-12-01.
	Date string `json:"date"`
	// Models are the prices of models by name.
	Models map[string]Price `json:"models"`
}

// Price is in US dollars per million tokens.
type Price struct {
	Input float64 `json:"input"`
	// CachedInput is the price of input that the provider has in its cache. Left
	// out it is that of Input.
	CachedInput *float64 `json:"cached_input"`
	Output      float64  `json:"output"`
}

// DecodePrices reads a table from JSON. The name is used in errors.
func DecodePrices(name string, data []byte) (*Prices, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var p Prices
	if err := decoder.Decode(&p); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	_, more := decoder.Token()
	switch {
	case !errors.Is(more, io.EOF):
		return nil, fmt.Errorf("%s: there is more behind the table", name)
	case p.Date == "":
		return nil, fmt.Errorf("%s: no date: prices change", name)
	case len(p.Models) == 0:
		return nil, fmt.Errorf("%s: no models", name)
	}
	for _, model := range p.names() {
		price := p.Models[model]
		if price.Input < 0 || price.Output < 0 || price.CachedInput != nil && *price.CachedInput < 0 {
			return nil, fmt.Errorf("%s: models.%s has a negative price", name, model)
		}
	}
	return &p, nil
}

func (p *Prices) names() []string { return slices.Sorted(maps.Keys(p.Models)) }

// Spent are tokens. Cached ones are part of Input.
type Spent struct {
	Input  int `json:"input"`
	Cached int `json:"cached_input"`
	Output int `json:"output"`
}

// Cost is what tokens cost, in US dollars.
func (p Price) Cost(s Spent) float64 {
	cached := p.Input
	if p.CachedInput != nil {
		cached = *p.CachedInput
	}
	return (float64(s.Input-s.Cached)*p.Input + float64(s.Cached)*cached + float64(s.Output)*p.Output) / 1e6
}

func (s Spent) plus(other Spent) Spent {
	return Spent{s.Input + other.Input, s.Cached + other.Cached, s.Output + other.Output}
}
