package eval

import (
	"fmt"
	"math"
	"testing"
)

func TestPrices(t *testing.T) {
	p, err := DecodePrices("p.json", []byte(`{"date":"2026-12-01","models":{"b":{"input":1,"output":4},"a":{"input":2,"cached_input":0.5,"output":10}}}`))
	if err != nil {
		t.Fatal(err)
	}
	spent := Spent{Input: 1_000_000, Cached: 400_000, Output: 100_000}
	for model, want := range map[string]float64{"a": 0.6*2 + 0.4*0.5 + 1, "b": 1 + 0.4} {
		if got := p.Models[model].Cost(spent); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s costs %v, want %v", model, got, want)
		}
	}
}

func TestPricesErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                             "p.json: the file is empty",
		`{"models":{"a":{"input":1}}}`: "p.json: no date: prices change",
		`{"date":"2026-12-01"}`:        "p.json: no models",
		`{"date":"x","prices":{}}`:     `p.json: json: unknown field "prices"`,
		`{"date":"x","models":{"a":{"input":-1,"output":1}}}`: "p.json: models.a has a negative price",
		`{"date":"x","models":{"a":{"input":1}}} {}`:          "p.json: there is more behind the table",
	} {
		if _, err := DecodePrices("p.json", []byte(text)); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzDecodePrices(f *testing.F) {
	f.Add([]byte(`{"date":"2026-12-01","models":{"a":{"input":2,"cached_input":0.5,"output":10}}}`))
	f.Add([]byte(`{"date":"2026-12-01","models":{"a":null}} {}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := DecodePrices("p", data)
		if err != nil {
			return
		}
		for name, price := range p.Models {
			if cost := price.Cost(Spent{Input: 10, Cached: 4, Output: 1}); cost < 0 {
				t.Errorf("%q costs %v", name, cost)
			}
		}
	})
}
