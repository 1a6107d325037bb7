package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

// connections opens connections with one exchange each, some at a time, until the time is over: a byte or a ClientHello
// is sent, one byte is read, the server ends the connection, and so does the client.
func connections(ctx context.Context, o options, stdout io.Writer) error {
	poll, err := wire.NewPoll()
	if err != nil {
		return err
	}
	defer poll.Close()
	v := &visits{options: o, poll: poll, text: []byte{wire.Once}, open: make([]visit, o.connections)}
	if o.secure {
		if v.text, err = wire.Hello(ctx, o.host); err != nil {
			return err
		}
	}
	defer v.close()
	begun := time.Now()
	if err := v.run(ctx, begun.Add(o.time)); err != nil {
		return err
	}
	return v.took.print(stdout, len(v.took), time.Since(begun))
}

// visits are connections with one exchange each.
type visits struct {
	options options
	poll    *wire.Poll
	text    []byte
	open    []visit
	took    times
}

// visit is one connection.
type visit struct {
	descriptor int // 0 for none
	begun      time.Time
	answered   bool
}

// run opens a connection for each one that has ended, until the end, and completes the last ones.
func (v *visits) run(ctx context.Context, end time.Time) error {
	for i := range v.open {
		if err := v.begin(i); err != nil {
			return err
		}
	}
	for left := len(v.open); left > 0 && ctx.Err() == nil; {
		events, err := v.poll.Wait(timeout)
		if err != nil {
			return err
		}
		if len(events) == 0 && time.Since(end) > timeout {
			return fmt.Errorf("%d connections were not answered", left)
		}
		for _, event := range events {
			ended, err := v.read(int(event.Fd))
			if err != nil {
				return err
			}
			switch {
			case !ended:
				continue
			case time.Now().After(end):
				left--
				continue
			}
			if err := v.begin(int(event.Fd)); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// begin opens a connection, and sends.
func (v *visits) begin(i int) error {
	begun := time.Now()
	descriptor, err := wire.Dial(unix.SOCK_STREAM, v.options.address)
	if err != nil {
		return err
	}
	v.open[i] = visit{descriptor: descriptor, begun: begun}
	if n, err := wire.Write(descriptor, v.text); err != nil || n != len(v.text) {
		return fmt.Errorf("%d of %d bytes were sent: %w", n, len(v.text), err)
	}
	return v.poll.Add(descriptor, i, unix.EPOLLIN)
}

// read reads what has come. At the end it closes the connection.
func (v *visits) read(i int) (ended bool, err error) {
	one := &v.open[i]
	var answer [2]byte
	for {
		n, err := wire.Read(one.descriptor, answer[:])
		switch {
		case errors.Is(err, io.EOF) && one.answered:
			v.took = append(v.took, time.Since(one.begun))
			err = unix.Close(one.descriptor)
			one.descriptor = 0
			return true, err
		case err != nil:
			return false, fmt.Errorf("a connection ended without an answer: %w", err)
		case n == 0:
			return false, nil
		case n != 1 || one.answered || answer[0] != wire.Acknowledgment:
			return false, fmt.Errorf("the answer is %q", answer[:n])
		}
		one.answered = true
	}
}

// close closes connections that are left after an error.
func (v *visits) close() {
	for _, one := range v.open {
		if one.descriptor > 0 {
			_ = unix.Close(one.descriptor)
		}
	}
}
