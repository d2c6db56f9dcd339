package estimate_test

import (
	"fmt"

	"github.com/recap-adk/recap/internal/estimate"
)

func ExampleTokens() {
	fmt.Println(estimate.Tokens("Where is my order 7741?"), estimate.Tokens(""))
	// Output: 7 0
}
