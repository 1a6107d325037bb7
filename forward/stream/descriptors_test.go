package stream_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestReservedDescriptors has no connection be made because descriptors are in reserve: that is held against no server,
// and another one would not help.
func TestReservedDescriptors(t *testing.T) {
	first, second := listen(t, echo), listen(t, echo)
	g := newRig(t, setup{
		servers: servers(first, second), options: stream.Options{Attempts: 2},
		dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: descriptors.ErrReserved}
		},
	})
	result := g.refused(t)
	equal(t, "code", result.Code, telemetry.CodeSaturated)
	equal(t, "attempts", result.Attempts, 1)
	if !strings.Contains(result.Reason, "descriptors.reserve") {
		t.Errorf("reason %q", result.Reason)
	}
	for _, address := range []string{first, second} {
		equal(t, "connect failures", g.member(t, address).Endpoint().ConnectFailures(), 0)
	}
}
