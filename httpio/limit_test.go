package httpio_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
)

func TestWithLimitDoesNotEndByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		limited := httpio.WithLimit(ctx, time.Second)
		if deadline, ok := limited.Deadline(); !ok || !deadline.Equal(time.Now().Add(time.Second)) {
			t.Errorf("the deadline is %v, %v", deadline, ok)
		}
		called := false
		context.AfterFunc(limited, func() { called = true })
		<-time.NewTimer(time.Minute).C
		if limited.Err() != nil || called {
			t.Errorf("ended by the deadline: %v", limited.Err())
		}
		cause := errors.New("cause")
		cancel(cause)
		synctest.Wait()
		<-limited.Done()
		if !called || context.Cause(limited) != cause { //nolint:errorlint // the very value
			t.Errorf("the end does not come through: called %v, %v", called, context.Cause(limited))
		}
	})
}

func TestWithLimitKeepsEarlierDeadlines(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if httpio.WithLimit(ctx, 0) != ctx || httpio.WithLimit(ctx, time.Hour) != ctx {
		t.Error("a context with an earlier deadline is another one")
	}
	if limited := httpio.WithLimit(context.Background(), time.Hour); limited.Done() == nil {
		t.Error("without a channel a dialer does not look at the deadline")
	}
}

// TestWithLimitBoundsDial has a deadline that is over when the connection is waited for.
func TestWithLimitBoundsDial(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	conn, err := new(net.Dialer).DialContext(httpio.WithLimit(t.Context(), 1), "tcp", listener.Addr().String())
	if err == nil {
		_ = conn.Close()
		t.Fatal("the dialer does not keep the deadline")
	}
	if failed, ok := errors.AsType[net.Error](err); !ok || !failed.Timeout() {
		t.Errorf("%v is no time-out", err)
	}
}
