package forward_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestReservedDescriptors has no connection be made because descriptors are in reserve: that is held against no
// endpoint, and another one would not help.
func TestReservedDescriptors(t *testing.T) {
	for _, scheme := range []string{"http", "https", "h2c"} {
		t.Run(scheme, func(t *testing.T) {
			var dialed atomic.Int32
			g := newProxy(t, setup{
				server: dynamic.Server{URL: scheme + "://127.0.0.1:1"}, more: []dynamic.Server{{URL: scheme + "://127.0.0.1:2"}},
				options: forward.Options{Retry: retryAll()},
				dial: func(context.Context, string, string) (net.Conn, error) {
					dialed.Add(1)
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: descriptors.ErrReserved}
				},
			})
			response, body := g.get(t, "/")
			equal(t, "answer", []any{response.StatusCode, body}, []any{503, "Service Unavailable"})
			record := g.record(t)
			equal(t, "record", []any{record.Status, record.Code, record.Tries}, []any{503, telemetry.CodeSaturated, 1})
			if !strings.Contains(record.Reason, "descriptors.reserve") {
				t.Errorf("recorded reason %q", record.Reason)
			}
			equal(t, "dialed", dialed.Load(), int32(1))
			for member := range g.pool.Snapshot().Members() {
				equal(t, "in flight", member.Endpoint().InFlight(), 0)
				equal(t, "connect failures", member.Endpoint().ConnectFailures(), 0)
			}
		})
	}
}
