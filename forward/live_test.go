package forward

import (
	"context"
	"errors"
	"net"
	"testing"
)

// TestClosedConnections makes none any more: neither one whose dial is under way when they are closed, nor a new one.
func TestClosedConnections(t *testing.T) {
	var connections live
	near, far := net.Pipe()
	defer far.Close() //nolint:errcheck // a test's
	dials := 0
	dial := connections.list(func(context.Context) (net.Conn, error) {
		dials++
		connections.close()
		return near, nil
	})
	for range 2 {
		if conn, err := dial(t.Context()); !errors.Is(err, errClosed) || conn != nil {
			t.Errorf("a dial gives %v, %v", conn, err)
		}
	}
	equal(t, "dials", dials, 1)
	if _, err := near.Write([]byte("x")); err == nil {
		t.Error("the connection is open")
	}
}
