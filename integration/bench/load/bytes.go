package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

// ahead is the number of blocks of a connection that are under way at a time.
const ahead = 2

// manyBytes downloads or uploads blocks on each connection until the time is over, and completes those that are under
// way then.
func manyBytes(ctx context.Context, o options, stdout io.Writer) error {
	begun := time.Now()
	blocks, failures := make([]int, o.connections), make([]error, o.connections)
	var running sync.WaitGroup
	for i := range blocks {
		running.Go(func() { blocks[i], failures[i] = transfer(ctx, o, begun.Add(o.time)) })
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	total := 0
	for _, n := range blocks {
		total += n
	}
	_, err := fmt.Fprintf(stdout, "load bytes=%d duration=%d\n", int64(total)*wire.Block, time.Since(begun).Microseconds())
	return err
}

// transfer opens a connection and returns how many blocks it has transferred.
func transfer(ctx context.Context, o options, end time.Time) (int, error) {
	plain, err := new(net.Dialer).DialContext(ctx, "tcp", o.address.String())
	if err != nil {
		return 0, err
	}
	defer func() { _ = plain.Close() }()
	if err := plain.SetDeadline(end.Add(10 * time.Second)); err != nil {
		return 0, err
	}
	read := func() (int, error) { return discard(plain.(*net.TCPConn)) }
	connection := plain
	if o.secure {
		connection = tls.Client(plain, o.tls())
		buffer := make([]byte, 64<<10)
		read = func() (int, error) { return connection.Read(buffer) }
	}
	if o.up {
		return upload(connection, end)
	}
	return download(connection, read, end)
}

// download requests blocks, and counts those that have come.
func download(connection net.Conn, read func() (int, error), end time.Time) (blocks int, err error) {
	if _, err := connection.Write([]byte{wire.Download, 'x', 'x'}); err != nil {
		return 0, err
	}
	for left, had := ahead, 0; left > 0; {
		n, err := read()
		if err != nil {
			return blocks, err
		}
		for had += n; had >= wire.Block; had -= wire.Block {
			blocks, left = blocks+1, left-1
			if time.Now().After(end) {
				continue
			}
			if _, err := connection.Write([]byte{'x'}); err != nil {
				return blocks, err
			}
			left++
		}
	}
	return blocks, nil
}

// upload sends blocks, and counts those that were acknowledged.
func upload(connection net.Conn, end time.Time) (blocks int, err error) {
	if _, err := connection.Write([]byte{wire.Upload}); err != nil {
		return 0, err
	}
	text := bytes.Repeat([]byte("x"), 256<<10)
	got := make([]byte, 1)
	for sent := 0; ; {
		if time.Now().Before(end) {
			for range wire.Block / len(text) {
				if _, err := connection.Write(text); err != nil {
					return blocks, err
				}
			}
			sent++
			if sent < ahead {
				continue
			}
		}
		if blocks == sent {
			return blocks, nil
		}
		if _, err := io.ReadFull(connection, got); err != nil {
			return blocks, err
		}
		if got[0] != wire.Acknowledgment {
			return blocks, fmt.Errorf("an upload is answered by %q", got)
		}
		blocks++
	}
}

// discard waits for bytes of a connection and drops them.
func discard(connection *net.TCPConn) (n int, err error) {
	raw, err := connection.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Read(func(descriptor uintptr) bool {
		n, err = wire.Discard(int(descriptor), wire.Block)
		return n > 0 || err != nil
	})
	if failed != nil && !errors.Is(failed, os.ErrClosed) {
		return 0, failed
	}
	return n, err
}
