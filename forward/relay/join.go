package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
)

// idleTicks is how often within the idle timeout a connection is looked at: the data path needs no clock for it.
const idleTicks = 8

// Joined is a client and a server that are joined.
type Joined struct {
	engine         *Engine
	begin          time.Time
	client, server end
	// up carries the client's bytes, down the server's.
	up, down flow
	// parts counts what the connection still consists of: the two directions, and the open connections as one.
	parts  atomic.Int32
	done   func(Result)
	detach func() bool // from the context; nil without
	// parks is whether the goroutine of a direction ends while its source brings nothing.
	parks bool

	// mutex guards what follows: it is taken at ends and by the timer.
	mutex sync.Mutex
	over  bool
	first Reason
	final Reason
	err   error
	timer *time.Timer
	// moved is the progress when the timer last saw some, at the time active since begin at the latest.
	moved  int64
	active time.Duration
	// cutAt is when the second direction ends, since begin; 0 is never.
	cutAt time.Duration

	idleTimeout, terminationDelay time.Duration
	// keepAlive is 0 when it is set. Only start and the goroutine of down use it.
	keepAlive time.Duration
}

func newJoined(e *Engine, client, server io.ReadWriteCloser, options *Options) *Joined {
	j := &Joined{
		engine: e, begin: time.Now(), idleTimeout: options.IdleTimeout, terminationDelay: options.TerminationDelay,
		keepAlive: options.KeepAlive,
	}
	j.parts.Store(3)
	// Only after its bytes are taken the kernel may read a connection.
	j.up.unsent, j.down.unsent = joined(options.ReadAhead, readAhead(client)), readAhead(server)
	j.client = newEnd(client, ClientEOF, ClientReset)
	j.server = newEnd(server, ServerEOF, ServerReset)
	options.ReadAhead = nil
	j.up.init(j, &j.client, &j.server)
	j.down.init(j, &j.server, &j.client)
	return j
}

// Serve passes on bytes. It may return before the end, and calls done once when both connections are closed, also
// because ctx has ended.
func (j *Joined) Serve(ctx context.Context, done func(Result)) {
	j.parks = true
	j.start(ctx, done)
}

// start begins both directions and the clock. That of the client runs on this goroutine until it is parked, and on one
// of its own if it can't be.
func (j *Joined) start(ctx context.Context, done func(Result)) {
	j.done = done
	if ctx.Done() != nil {
		j.detach = context.AfterFunc(ctx, j.Shutdown)
	}
	j.mutex.Lock()
	if !j.over {
		j.arm(0)
	}
	j.mutex.Unlock()
	if !j.parks || j.server.plain == nil {
		j.probe() // The goroutine of down does not come to know that it is idle.
	}
	go j.down.run()
	if j.parks && j.client.plain != nil {
		j.up.run()
	} else {
		go j.up.run()
	}
}

// probe begins the keep-alive of the server's connection. A connection without it is used all the same.
func (j *Joined) probe() {
	if j.keepAlive <= 0 {
		return
	}
	if server, ok := j.server.conn.(net.Conn); ok {
		if tcp, ok := httpio.Bottom(server).(*net.TCPConn); ok {
			_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: j.keepAlive, Interval: j.keepAlive})
		}
	}
	j.keepAlive = 0
}

// leave notes the end of parts, the last of which reports.
func (j *Joined) leave(parts int32) {
	if j.parts.Add(-parts) > 0 {
		return
	}
	if j.detach != nil {
		j.detach()
	}
	j.done(j.report())
}

// park ends the goroutine of a direction until its source is readable. It returns false where that cannot be, because
// the connection is over or the system refuses.
func (j *Joined) park(f *flow) bool {
	f.release()
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.over {
		return false
	}
	var ok bool
	f.ticket, ok = j.engine.parked.AddReader(f.source.tcp, f)
	return ok
}

// unpark removes a direction from those that are parked, and returns how many parts of the connection that ends. The
// mutex is held.
func (j *Joined) unpark(f *flow) int32 {
	if f.ticket == 0 {
		return 0
	}
	j.engine.parked.Remove(f.ticket)
	f.ticket = 0
	return 1
}

// Shutdown ends the connections, also before Serve.
func (j *Joined) Shutdown() { j.cut(Shutdown) }

// joined returns the bytes of a and of b, in one slice.
func joined(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	return slices.Concat(a, b)
}

// readAhead takes what the connection has read ahead, after which the kernel may read it.
func readAhead(conn io.ReadWriteCloser) []byte {
	if ahead, ok := conn.(httpio.ReadAheader); ok {
		return ahead.ReadAhead()
	}
	return nil
}

// ended notes the orderly end of a flow and passes it on. It returns false if the connection is over.
func (j *Joined) ended(f *flow) bool {
	f.ending.Store(true)
	j.mutex.Lock()
	f.ended = true
	both, over := f.back().ended, j.over
	if j.first == 0 {
		j.first = f.source.eof
	}
	j.mutex.Unlock()
	switch {
	case over:
		return false
	case both:
		j.finish(f.source.eof, nil, false, false)
		return false
	case j.terminationDelay == 0:
		j.cut(TerminationDelay)
		return false
	}
	err := httpio.CloseWrite(f.sink.conn)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		j.cut(f.source.eof)
		return false
	case err != nil:
		j.fail(f.sink, err)
		return false
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.over {
		return false
	}
	if j.terminationDelay > 0 {
		now := time.Since(j.begin)
		j.cutAt = now + j.terminationDelay
		j.arm(now)
	}
	return true
}

// fail ends the connection because one side failed: the other is reset, since it did not get all or can't send all.
func (j *Joined) fail(failed *end, err error) {
	switch {
	case errors.Is(err, net.ErrClosed):
		j.cut(Shutdown)
	case isReset(err):
		j.finish(failed.reset, nil, true, true)
	default:
		j.finish(Error, err, failed != &j.client, failed != &j.server)
	}
}

// isReset reports whether the peer has ended the connection before its orderly end.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ENOTCONN) ||
		errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, io.ErrClosedPipe)
}

// cut ends the connection from here. A side is reset if bytes for it are on their way and may be lost.
func (j *Joined) cut(reason Reason) {
	j.finish(reason, nil, j.down.lost(), j.up.lost())
}

// finish closes both sides, once.
func (j *Joined) finish(reason Reason, err error, resetClient, resetServer bool) {
	j.mutex.Lock()
	if j.over {
		j.mutex.Unlock()
		return
	}
	j.over, j.final, j.err = true, reason, err
	if j.first == 0 {
		j.first = reason
	}
	if j.timer != nil {
		j.timer.Stop()
	}
	parts := 1 + j.unpark(&j.up) + j.unpark(&j.down)
	j.mutex.Unlock()
	j.client.close(resetClient)
	j.server.close(resetServer)
	j.leave(parts)
}

// arm sets the timer to what comes next: the cut or the next look at an idle connection. The mutex is held.
func (j *Joined) arm(now time.Duration) {
	wait := time.Duration(-1)
	if timeout := j.idleTimeout; timeout > 0 {
		wait = max(min(timeout/idleTicks, j.active+timeout-now), 1)
	}
	if j.cutAt > 0 {
		if left := max(j.cutAt-now, 1); wait < 0 || left < wait {
			wait = left
		}
	}
	switch {
	case wait < 0:
	case j.timer == nil:
		j.timer = time.AfterFunc(wait, j.tick)
	default:
		j.timer.Reset(wait)
	}
}

// tick is what the timer calls.
func (j *Joined) tick() {
	now := time.Since(j.begin)
	moved := j.up.progress() + j.down.progress()
	var reason Reason
	j.mutex.Lock()
	if moved != j.moved {
		j.moved, j.active = moved, now
	}
	switch {
	case j.over:
	case j.cutAt > 0 && now >= j.cutAt:
		reason = TerminationDelay
	case j.idleTimeout > 0 && now-j.active >= j.idleTimeout:
		reason = IdleTimeout
	default:
		j.arm(now)
	}
	j.mutex.Unlock()
	if reason != 0 {
		j.cut(reason)
	}
}

func (j *Joined) report() Result {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return Result{
		FromClient: j.up.delivered.Load(),
		FromServer: j.down.delivered.Load(),
		Spliced:    j.up.spliced + j.down.spliced,
		First:      j.first,
		Final:      j.final,
		Err:        j.err,
		Duration:   time.Since(j.begin),
	}
}
