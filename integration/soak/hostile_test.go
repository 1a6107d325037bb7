package soak

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// attack uses one connection for something that no sound client does. It returns when the connection has ended, or
// when ctx has.
type attack struct {
	network string
	// address is that of the entrypoint.
	address string
	do      func(ctx context.Context, conn net.Conn)
}

// besiege has hostile clients connect until ctx ends. What it returns waits for them, and returns their number.
func (w *world) besiege(ctx context.Context) (connections func() int64) {
	var running sync.WaitGroup
	var count atomic.Int64
	for _, one := range w.attacks() {
		running.Go(func() {
			next := time.NewTicker(w.pace)
			defer next.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-next.C:
				}
				conn, err := new(net.Dialer).DialContext(ctx, one.network, one.address)
				if err != nil {
					continue
				}
				stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
				one.do(ctx, conn)
				stop()
				_ = conn.Close()
				count.Add(1)
			}
		})
	}
	return func() int64 {
		running.Wait()
		return count.Load()
	}
}

// attacks returns the hostile clients.
func (w *world) attacks() []attack {
	web, secure, quic := w.address(harness.H1), w.address(harness.H2), w.address(harness.H3)
	return []attack{
		{"tcp", web, drip},
		{"tcp", web, write("GET / HTTP/1.1\r\nHost: h1.test\r\nX-Long: " + strings.Repeat("a", 2<<20))},
		{"tcp", web, write("POST / HTTP/1.1\r\nHost: h1.test\r\nContent-Length: 5\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
		{"tcp", web, reset},
		{"tcp", secure, write("\x16")},
		{"tcp", secure, garbage},
		{"udp", quic, garbage},
	}
}

// write sends bytes, and reads until the connection ends.
func write(text string) func(context.Context, net.Conn) {
	return func(_ context.Context, conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		_, _ = io.Copy(io.Discard, conn)
	}
}

// drip sends a head of which a byte comes each second.
func drip(ctx context.Context, conn net.Conn) {
	_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h1.test\r\nX-Slow: ")
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		_, err = io.WriteString(conn, "a")
	}
}

// garbage sends random bytes.
func garbage(_ context.Context, conn net.Conn) {
	random := make([]byte, 1200)
	_, _ = rand.Read(random)
	_, _ = conn.Write(random)
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, conn)
}

// reset opens streams of HTTP/2 and resets them at once, until the server has enough of it.
func reset(_ context.Context, conn net.Conn) {
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for name, value := range map[string]string{
		":method": "GET", ":scheme": "http", ":path": "/", ":authority": "h1.test",
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: name, Value: value})
	}
	_, err := io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, nil)
	if err == nil {
		err = framer.WriteSettings()
	}
	for id := uint32(1); err == nil && id < 10_000; id += 2 {
		err = framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true,
		})
		if err == nil {
			err = framer.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}
}
