package entrypoint

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/httpio/workers"
)

// ErrWithdrawn is the cause ([context.Cause]) with which the context of Serve ends where an address has no routes any
// more. Clients are refused then without the time of lifeCycle.requestAcceptGraceTimeout.
var ErrWithdrawn = errors.New("the address is withdrawn")

// acceptGrace returns for how long clients are accepted after the end of a context.
func acceptGrace(ended context.Context, configured time.Duration) time.Duration {
	if cause := context.Cause(ended); errors.Is(cause, ErrWithdrawn) || errors.Is(cause, ErrHandedOver) {
		return 0
	}
	return configured
}

// settleTime bounds how long a connection that is new when draining begins may take to bring its first request.
const settleTime = time.Second

// run serves until ctx ends and nothing is left.
func (e *Entrypoint) run(ctx context.Context, servers servers) error {
	var work sync.WaitGroup
	base := context.WithoutCancel(ctx)
	logging, stopLogging := context.WithCancel(base)
	work.Go(func() { e.writeReports(logging) })
	opening, stopOpening := context.WithCancel(base)
	packets, stopPackets := context.WithCancel(base)
	if e.http3 != nil {
		work.Go(func() { e.servePackets(packets) })
	}
	stopping, stop := context.WithCancelCause(base)
	if e.deps.Timeouts != nil {
		work.Go(func() { e.reduceTimeouts(stopping, servers) })
	}
	ended := make(chan error, 1)
	work.Go(func() {
		pool := workers.New(mostIdleWorkers, func(c *connection) { e.dispatch(opening, base, c, servers) })
		defer pool.End()
		ended <- e.accept(stopping, pool)
	})
	var err error
	select {
	case <-ctx.Done():
		e.leavePackets(ctx, stopPackets)
		err = e.retire(ctx, servers, func() { stop(context.Cause(ctx)) }, ended)
	case err = <-ended:
		e.draining.Store(true)
	}
	stop(nil)
	_ = e.listener.Close()
	if handed, ok := handedOver(ctx); ok {
		e.drainHandedOver(base, servers, stopOpening, handed)
	} else {
		e.drain(base, servers, stopOpening)
	}
	stopPackets()
	stopLogging()
	work.Wait()
	return err
}

// servePackets serves HTTP/3 until ctx ends. The TCP port goes on if the UDP port cannot be served.
func (e *Entrypoint) servePackets(ctx context.Context) {
	if err := e.http3.ServePackets(ctx, e.packets); err != nil {
		e.report(report{level: failure, text: "HTTP/3 is not served", err: err})
	}
}

// retire goes on accepting for the grace time, and then ends keep-alive, but for a hand-over, and the accept loop.
func (e *Entrypoint) retire(ctx context.Context, servers servers, stop func(), ended <-chan error) error {
	e.draining.Store(true)
	if grace := acceptGrace(ctx, e.settings.acceptGrace); grace > 0 {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
		case err := <-ended:
			return err
		}
	}
	if _, handed := handedOver(ctx); !handed {
		e.endKeepAlives(servers)
	}
	stop()
	if e.setAcceptDeadline() != nil {
		_ = e.listener.Close()
	}
	return <-ended
}

func (e *Entrypoint) endKeepAlives(servers servers) {
	for _, server := range servers.all() {
		server.EndKeepAlives()
	}
	if e.http3 != nil {
		e.http3.EndKeepAlives()
	}
}

// cutTime bounds how long connections of TCP routers may take to be cut and reported.
const cutTime = time.Second

// drain lets what is open finish within the grace time, and cuts the rest: handshakes and connections of TCP routers by
// stopOpening.
func (e *Entrypoint) drain(base context.Context, servers servers, stopOpening context.CancelFunc) {
	ctx, cancel := context.WithTimeout(base, e.settings.grace)
	defer cancel()
	young := time.Now().Add(-settleTime)
	e.closeSilent(young)
	// Shutdown drops a new connection whose request has not been read yet. So keep-alive ends first, and connections
	// that have sent something, or have just come, get a moment to bring their request.
	e.endKeepAlives(servers)
	settle, done := context.WithTimeout(ctx, settleTime)
	e.open.await(settle, upTo(opening))
	done()
	e.closeSilent(time.Now())
	e.shutDown(ctx, base, servers, stopOpening)
}

// shutDown ends idle connections, lets requests finish until ctx ends, and cuts the rest.
func (e *Entrypoint) shutDown(ctx, base context.Context, servers servers, stopOpening context.CancelFunc) {
	var work sync.WaitGroup
	for _, server := range servers.all() {
		work.Go(func() { _ = server.Shutdown(ctx) })
	}
	if e.http3 != nil {
		work.Go(func() { _ = e.http3.Shutdown(ctx) })
	}
	work.Wait()
	// Shutdown does not cover connections that have been hijacked.
	e.open.await(ctx, upTo(active))
	stopOpening()
	e.awaitStreams(base)
	// First below TLS, which would wait for clients that read nothing.
	e.open.each(func(c *connection) { _ = c.Close() })
	e.awaitStreams(base)
	for _, server := range servers.all() {
		_ = server.Close()
	}
}

// awaitStreams waits until the connections of TCP routers have been reported, for as long as cutting them may take.
func (e *Entrypoint) awaitStreams(base context.Context) {
	ctx, cancel := context.WithTimeout(base, cutTime)
	defer cancel()
	e.open.await(ctx, isStream)
}

// closeSilent closes the connections that were accepted before a time and have sent nothing.
func (e *Entrypoint) closeSilent(before time.Time) {
	e.open.each(func(c *connection) {
		if c.silentSince(before) {
			_ = c.Close()
		}
	})
}
