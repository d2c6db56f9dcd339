package database_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/recap-adk/recap/session"
)

// A scan reads ahead; whatever ends it, its reader has ended too.
func TestScansLeaveNothingBehind(t *testing.T) {
	service := open(t, newFile(t))
	handle := create(t, service)
	for i := range 2100 {
		add(t, service, handle, say(fmt.Sprint("e", i), at(i), "x"))
	}
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	scanner, req := service.(session.EventScanner), &session.ScanRequest{AppName: trip.AppName, UserID: trip.UserID, SessionID: trip.SessionID}
	for _, err := range scanner.ScanEvents(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range scanner.ScanEvents(ctx, req) {
		if n++; n == 10 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("after %d events a scan that was cancelled ended with %v", n, last)
	}
	func() {
		defer func() { _ = recover() }()
		for range scanner.ScanEvents(t.Context(), req) {
			panic("in the loop")
		}
	}()
}
