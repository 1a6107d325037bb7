package server_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/http2/server"
)

// inUse returns the bytes of heap and stacks in use, and those of stacks alone.
func inUse() (all, stacks int) {
	var stats runtime.MemStats
	for range 3 { // What pools hold is freed by the third at the latest.
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc + stats.StackInuse), int(stats.StackInuse)
}

// BenchmarkIdle reports what a connection takes that is idle after a request. Its client is a bare descriptor.
func BenchmarkIdle(b *testing.B) {
	const connections = 5000
	s := &server.Server{Handler: http.HandlerFunc(hello), IdleTimeout: time.Hour, OpeningTimeout: time.Minute}
	listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()                 //nolint:errcheck // a test's
	defer s.Shutdown(context.Background()) //nolint:errcheck // It never fails.
	address := &unix.SockaddrInet4{Port: listener.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
	var sent, block bytes.Buffer
	sent.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&sent, nil)
	encoder := hpack.NewEncoder(&block)
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "GET"},
		{Name: ":scheme", Value: "http"},
		{Name: ":authority", Value: "a"},
		{Name: ":path", Value: "/"},
		{Name: "user-agent", Value: "a client of some kind"},
	} {
		_ = encoder.WriteField(f)
	}
	_ = framer.WriteSettings()
	_ = framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: block.Bytes(),
	})
	for b.Loop() {
		var all sync.WaitGroup
		before, stacksBefore := inUse()
		far := make([]int, connections)
		for i := range far {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				b.Fatal(err)
			}
			if err := unix.Connect(fd, address); err != nil {
				b.Fatal(err)
			}
			far[i] = fd
			conn, err := listener.Accept()
			if err != nil {
				b.Fatal(err)
			}
			all.Go(func() { s.ServeConn(context.Background(), conn) })
			if _, err := unix.Write(fd, sent.Bytes()); err != nil {
				b.Fatal(err)
			}
			piece := make([]byte, 4096)
			for got := []byte(nil); !bytes.Contains(got, []byte("hello")); {
				n, err := unix.Read(fd, piece)
				if err != nil || n == 0 {
					b.Fatalf("%d bytes, %v", n, err)
				}
				got = append(got, piece[:n]...)
			}
		}
		<-time.NewTimer(3 * time.Second).C // Buffers are given back after two.
		after, stacks := inUse()
		b.ReportMetric(float64(after-before)/connections, "B/connection")
		b.ReportMetric(float64(stacks-stacksBefore)/connections, "B-stack/connection")
		for _, fd := range far {
			_ = unix.Close(fd)
		}
		all.Wait()
	}
}
