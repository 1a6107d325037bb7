package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

const (
	// datagramLength is the length of datagrams, in bytes.
	datagramLength = 64
	// datagramsAhead is the number of datagrams under way at a time: fewer than a socket's buffer holds by default.
	datagramsAhead = 128
	// lostAfter is how long a datagram may take before another one is sent in its place.
	lostAfter = 500 * time.Millisecond
)

// roundTrips sends a byte on each connection, and the next one when it has come back.
func roundTrips(ctx context.Context, o options, stdout io.Writer) error {
	return pings{length: 1, most: o.connections}.measure(ctx, o, stdout)
}

// datagrams sends datagrams from as many sockets as there are connections, in turns, and counts those that come back.
func datagrams(ctx context.Context, o options, stdout io.Writer) error {
	return pings{length: datagramLength, most: min(datagramsAhead, o.connections), lossy: true}.measure(ctx, o, stdout)
}

// pings are messages that come back.
type pings struct {
	// length is that of each message, most the number under way at a time.
	length, most int
	// lossy is set for datagrams, which may be lost.
	lossy bool

	poll    *wire.Poll
	sockets []pinger
	// free are the sockets without a message under way, in the order in which they are used next.
	free []int
	// away are the sockets with one, in the order in which they have sent; some have received it meanwhile.
	away           []departure
	message, reply []byte
	sent, underway int
	took           times
}

// pinger is a socket.
type pinger struct {
	descriptor int
	// number is that of its message, counted from 1; 0 if none is under way.
	number int
	begun  time.Time
}

// departure is a sent message.
type departure struct{ socket, number int }

// measure opens the sockets, and sends until the time is over.
func (p pings) measure(ctx context.Context, o options, stdout io.Writer) error {
	p.message, p.reply = bytes.Repeat([]byte("p"), p.length), make([]byte, p.length+1)
	var err error
	if p.poll, err = wire.NewPoll(); err != nil {
		return err
	}
	defer p.poll.Close()
	defer func() {
		for _, s := range p.sockets {
			_ = unix.Close(s.descriptor)
		}
	}()
	for range o.connections {
		if err := p.open(o); err != nil {
			return err
		}
	}
	begun := time.Now()
	if err := p.run(ctx, begun.Add(o.time)); err != nil {
		return err
	}
	return p.took.print(stdout, len(p.took), time.Since(begun), fmt.Sprintf("sent=%d", p.sent))
}

// open opens a socket.
func (p *pings) open(o options) error {
	kind := unix.SOCK_STREAM
	if p.lossy {
		kind = unix.SOCK_DGRAM
	}
	descriptor, err := wire.Dial(kind, o.address)
	if err != nil {
		return err
	}
	number := len(p.sockets)
	p.sockets, p.free = append(p.sockets, pinger{descriptor: descriptor}), append(p.free, number)
	if !p.lossy {
		if _, err := wire.Write(descriptor, []byte{wire.Echo}); err != nil {
			return err
		}
	}
	return p.poll.Add(descriptor, number, unix.EPOLLIN)
}

// run sends until the end, and awaits what is under way then.
func (p *pings) run(ctx context.Context, end time.Time) error {
	for ctx.Err() == nil {
		now := time.Now()
		sending := now.Before(end)
		switch {
		case !sending && p.underway == 0:
			return nil
		case now.Sub(end) > timeout:
			return fmt.Errorf("%d messages were not answered", p.underway)
		}
		for sending && p.underway < p.most {
			if err := p.send(now); err != nil {
				return err
			}
		}
		events, err := p.poll.Wait(lostAfter / 10)
		if err != nil {
			return err
		}
		for _, event := range events {
			if err := p.receive(int(event.Fd)); err != nil {
				return err
			}
		}
		p.expire(time.Now())
	}
	return ctx.Err()
}

// send sends a message on the next free socket.
func (p *pings) send(now time.Time) error {
	i := p.free[0]
	p.free = p.free[1:]
	p.sent++
	p.underway++
	s := &p.sockets[i]
	s.number, s.begun = p.sent, now
	if p.lossy {
		p.away = append(p.away, departure{i, p.sent})
	}
	n, err := wire.Write(s.descriptor, p.numbered(p.sent))
	if err != nil || n != p.length {
		return fmt.Errorf("%d of %d bytes were sent: %w", n, p.length, err)
	}
	return nil
}

// numbered returns the message with a number, of which short messages have the last byte.
func (p *pings) numbered(number int) []byte {
	var text [8]byte
	binary.LittleEndian.PutUint64(text[:], uint64(number))
	copy(p.message, text[:])
	return p.message
}

// receive reads one message from a socket.
func (p *pings) receive(i int) error {
	s := &p.sockets[i]
	n, err := wire.Read(s.descriptor, p.reply)
	if err != nil {
		return fmt.Errorf("message %d: %w", s.number, err)
	}
	if n == 0 {
		return nil
	}
	if n != p.length || !bytes.Equal(p.reply[:n], p.numbered(s.number)) {
		if p.lossy && n == p.length {
			return nil // It comes too late.
		}
		return fmt.Errorf("message %d was answered by %q", s.number, p.reply[:n])
	}
	if s.number == 0 {
		return fmt.Errorf("an answer to nothing: %q", p.reply[:n])
	}
	p.took = append(p.took, time.Since(s.begun))
	p.over(i)
	return nil
}

// expire gives up datagrams that are lost. The oldest comes first.
func (p *pings) expire(now time.Time) {
	for ; len(p.away) > 0; p.away = p.away[1:] {
		oldest := p.away[0]
		s := &p.sockets[oldest.socket]
		if s.number != oldest.number {
			continue // It has come back.
		}
		if now.Sub(s.begun) < lostAfter {
			return
		}
		p.over(oldest.socket)
	}
}

// over makes a socket free.
func (p *pings) over(i int) {
	p.sockets[i].number = 0
	p.free = append(p.free, i)
	p.underway--
}
