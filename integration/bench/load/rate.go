package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

// timeout is how long responses are awaited after the last request was due.
const timeout = 2 * time.Second

// rate sends requests on a fixed schedule over persistent connections: one is due every 1/rate seconds. If no
// connection is free it waits, and this time counts.
func rate(ctx context.Context, o options, stdout io.Writer) error {
	runtime.LockOSThread() // for the timer slack
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("timer slack: %w", err)
	}
	l, err := newLoop(o)
	if err != nil {
		return err
	}
	defer l.close()
	if err := l.run(ctx); err != nil {
		return err
	}
	unanswered := l.total - l.answered
	end := l.interval*time.Duration(l.total) + timeout
	for i := range unanswered { // They have waited at least this long.
		l.took = append(l.took, max(0, end-l.interval*time.Duration(l.answered+i)))
	}
	return l.took.print(stdout, l.answered, l.ended, fmt.Sprintf("unanswered=%d", unanswered))
}

// loop is the open loop: one thread that waits for responses and the next request.
type loop struct {
	poll     *wire.Poll
	sockets  []socket
	free     []int // idle sockets
	request  []byte
	interval time.Duration
	// total is the number of requests of the run; sent and answered those so far.
	total, sent, answered int
	begun                 time.Time
	ended                 time.Duration
	took                  times
}

// socket is one connection.
type socket struct {
	descriptor int
	due        time.Duration // when its request was due
	answer     answer
}

func newLoop(o options) (*loop, error) {
	l := &loop{
		sockets: make([]socket, o.connections), request: o.request(""),
		interval: time.Duration(float64(time.Second) / o.rate), total: int(o.time.Seconds() * o.rate),
	}
	l.took = make(times, 0, l.total)
	var err error
	if l.poll, err = wire.NewPoll(); err != nil {
		return nil, err
	}
	for i := range l.sockets {
		l.sockets[i].descriptor = -1
	}
	for i := range l.sockets {
		if err := l.open(i, o); err != nil {
			l.close()
			return nil, err
		}
		l.free = append(l.free, i)
	}
	return l, nil
}

func (l *loop) open(i int, o options) error {
	descriptor, err := wire.Dial(unix.SOCK_STREAM, o.address)
	if err != nil {
		return err
	}
	l.sockets[i].descriptor = descriptor
	return l.poll.Add(descriptor, i, unix.EPOLLIN)
}

func (l *loop) close() {
	for _, s := range l.sockets {
		if s.descriptor >= 0 {
			_ = unix.Close(s.descriptor)
		}
	}
	l.poll.Close()
}

// run sends all requests and awaits their responses.
func (l *loop) run(ctx context.Context) error {
	l.begun = time.Now()
	last := l.interval*time.Duration(l.total) + timeout
	for l.answered < l.total {
		now := time.Since(l.begun)
		if now > last || ctx.Err() != nil {
			break
		}
		if err := l.send(now); err != nil {
			return err
		}
		events, err := l.poll.Wait(l.pause(last))
		if err != nil {
			return err
		}
		for _, event := range events {
			if err := l.read(int(event.Fd)); err != nil {
				return err
			}
		}
	}
	l.ended = time.Since(l.begun)
	return ctx.Err()
}

// send sends due requests while a connection is free.
func (l *loop) send(now time.Duration) error {
	for len(l.free) > 0 && l.sent < l.total {
		due := l.interval * time.Duration(l.sent)
		if due > now {
			return nil
		}
		i := l.free[len(l.free)-1]
		l.free = l.free[:len(l.free)-1]
		l.sockets[i].due = due
		if n, err := wire.Write(l.sockets[i].descriptor, l.request); err != nil || n != len(l.request) {
			return fmt.Errorf("%d of %d bytes were sent: %w", n, len(l.request), err)
		}
		l.sent++
	}
	return nil
}

// pause returns the time until the next request is due.
func (l *loop) pause(last time.Duration) time.Duration {
	next := last
	if len(l.free) > 0 && l.sent < l.total {
		next = min(last, l.interval*time.Duration(l.sent))
	}
	return max(0, next-time.Since(l.begun))
}

// read reads from a connection.
func (l *loop) read(i int) error {
	s := &l.sockets[i]
	n, err := wire.Read(s.descriptor, s.answer.buffer())
	if err != nil {
		return fmt.Errorf("reading an answer: %w", err)
	}
	if n == 0 {
		return nil
	}
	complete, err := s.answer.add(n)
	if err != nil || !complete {
		return err
	}
	l.took = append(l.took, time.Since(l.begun)-s.due)
	l.answered++
	l.free = append(l.free, i)
	return nil
}
