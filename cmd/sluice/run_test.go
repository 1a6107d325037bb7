package main

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/sluiceproxy/sluice/telemetry"
)

// SIGHUP must not end a Sluice that has no files to read again.
func TestHangupWithoutFiles(t *testing.T) {
	s := &sources{}
	ctx, cancel := context.WithCancel(t.Context())
	hangups, done := make(chan os.Signal), make(chan struct{})
	go func() {
		each(ctx, hangups, func() { s.reload(telemetry.Discard{}) })
		close(done)
	}()
	for range 2 {
		select {
		case hangups <- syscall.SIGHUP:
		case <-done:
			t.Fatal("SIGHUP has no handler")
		}
	}
	cancel()
	<-done
}
