package etcd_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/etcd"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The conformance of the store is tested in integration/certificates, where etcd is.

func TestWrongAddresses(t *testing.T) {
	for _, test := range []struct{ address, want string }{
		{"etcd://u:secret@", "lacks a host"},
		{"etcd://u:secret@a,,b", "lacks a host"},
		{"etcd://u:secret@a:x", "is not host:port"},
		{"etcd://u:secret@a?ca=x", "needs etcds://"},
		{"etcd://u:secret@a?prefix=x", `"prefix" is unknown`},
		{"etcds://u:secret@a?ca=/missing/ca.pem", "/missing/ca.pem"},
		{"http://u:secret@a", "etcd://"},
	} {
		_, err := etcd.Open(t.Context(), test.address, telemetry.Discard{})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, not %q", test.address, err, test.want)
		}
	}
}

// TestUnreachable demands that operations end in time, that a watch waits, and that errors show no password.
func TestUnreachable(t *testing.T) {
	address := http1test.Reserve(t)
	for _, user := range []string{"", "u:secret@"} {
		ctx, cancel := context.WithCancel(t.Context())
		store, err := etcd.Open(ctx, "etcd://"+user+address, telemetry.Discard{})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = store.Get(ctx, storage.Key{Kind: storage.KindTickets})
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "etcd://"+address) ||
			time.Since(began) > 20*time.Second {
			t.Errorf("Get: %v after %v", err, time.Since(began))
		}
		watched := make(chan error)
		go func() {
			watched <- store.Watch(ctx, func([]storage.Change) { t.Error("something was received") })
		}()
		timer := time.AfterFunc(time.Second, cancel)
		if err := <-watched; err != nil {
			t.Errorf("Watch: %v", err)
		}
		timer.Stop()
		if _, err := store.Get(ctx, storage.Key{Kind: storage.KindTickets}); !errors.Is(err, context.Canceled) {
			t.Errorf("Get after the end: %v", err)
		}
	}
}
