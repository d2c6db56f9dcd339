// Package parity compares what Recap does to a log with what Google's adk-python
// does to it. It has tests only: adk-python was run on generated logs, and what
// it chose, stored and sent is in testdata, with the script that ran it.
//
//	go test ./internal/parity -v
package parity
