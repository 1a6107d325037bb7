package health

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
)

// endpoint is an endpoint without a socket: a function that answers, on the clock of a synctest bubble. It counts.
type endpoint struct {
	// answer returns a status, or an error, for the nth check from 0.
	answer func(ctx context.Context, n int) (int, error)

	mutex       sync.Mutex
	asked       []time.Time
	open, most  int
	clients     int
	disconnects int
}

// always answers with one status.
func always(status int) func(context.Context, int) (int, error) {
	return func(context.Context, int) (int, error) { return status, nil }
}

// script answers with one status after the other, and then with the last one.
func script(statuses ...int) func(context.Context, int) (int, error) {
	return func(_ context.Context, n int) (int, error) { return statuses[min(n, len(statuses)-1)], nil }
}

// takes answers with 200 after a time.
func takes(wait time.Duration) func(context.Context, int) (int, error) {
	return func(ctx context.Context, _ int) (int, error) {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-timer.C:
			return 200, nil
		}
	}
}

// never answers.
func never(ctx context.Context, _ int) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// RoundTripper returns the endpoint itself.
func (e *endpoint) RoundTripper(string, netip.AddrPort, string) Client {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.clients++
	return e
}

// Dial is for checks of TCP.
func (e *endpoint) Dial(context.Context, string, netip.AddrPort, string) (net.Conn, error) {
	return nil, errors.ErrUnsupported
}

// RoundTrip answers.
func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	e.mutex.Lock()
	n := len(e.asked)
	e.asked = append(e.asked, time.Now())
	e.open++
	e.most = max(e.most, e.open)
	e.mutex.Unlock()
	status, err := e.answer(r.Context(), n)
	e.mutex.Lock()
	e.open--
	e.mutex.Unlock()
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Header: http.Header{}}, nil
}

// CloseIdleConnections counts.
func (e *endpoint) CloseIdleConnections() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.disconnects++
}

// times returns when the endpoint was checked.
func (e *endpoint) times() []time.Time {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return append([]time.Time(nil), e.asked...)
}

func (e *endpoint) target() Target {
	return Target{Scheme: "http", Address: netip.MustParseAddrPort("192.0.2.1:80"), Connect: e}
}

// journal takes results down.
type journal struct {
	mutex   sync.Mutex
	results []Result
}

func (j *journal) note(v Result) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.results = append(j.results, v)
}

func (j *journal) all() []Result {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return append([]Result(nil), j.results...)
}

// every returns a check at exact times.
func every(t testing.TB, interval time.Duration, change func(*dynamic.ServerHealthCheck)) Check {
	t.Helper()
	return checkOf(t, func(c *dynamic.ServerHealthCheck) {
		c.Interval, c.Jitter = ptypes.Duration(interval), number(0)
		if change != nil {
			change(c)
		}
	})
}

// pass lets time pass on the clock of the bubble, and whatever that causes happen.
func pass(d time.Duration) {
	<-time.After(d) //nolint:forbidigo // a clock that costs no time
	synctest.Wait()
}
