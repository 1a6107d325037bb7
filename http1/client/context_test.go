package client_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/httpio/afterfunc"
)

// callContext is a context that takes calls, and counts them.
type callContext struct {
	context.Context
	added, stopped atomic.Int32
}

func (c *callContext) AddCall(*afterfunc.Call) { c.added.Add(1) }

func (c *callContext) StopCall(*afterfunc.Call) bool {
	c.stopped.Add(1)
	return true
}

// layered adds values to a context.
type layered struct{ context.Context }

func (l layered) EndsWith() context.Context { return l.Context }

// TestContextsThatTakeCalls are followed without a function of their own, also below layers with EndsWith.
func TestContextsThatTakeCalls(t *testing.T) {
	t.Parallel()
	endpoint := http1test.NewEndpoint(t, http1test.Answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	upstream := testUpstream(t, endpoint.Address(), nil)
	for name, wrap := range map[string]func(context.Context) context.Context{
		"itself":     func(ctx context.Context) context.Context { return ctx },
		"two layers": func(ctx context.Context) context.Context { return layered{layered{ctx}} },
	} {
		calls := &callContext{Context: t.Context()}
		if got := take(upstream.RoundTrip(testRequest(t, "GET", "a.example", nil).WithContext(wrap(calls)))); got.Failed {
			t.Fatal("it failed")
		}
		if added, stopped := calls.added.Load(), calls.stopped.Load(); added != 1 || stopped != 1 {
			t.Errorf("%s: %d calls, %d of them stopped", name, added, stopped)
		}
	}
}
