//go:build unix

package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

// exchanges has clients exchange b.N requests with a server, over keep-alive connections.
func exchanges(b *testing.B, address, request string, clients int) {
	done := make(chan error, clients)
	for i := range clients {
		n := b.N / clients
		if i < b.N%clients {
			n++
		}
		go func() { done <- exchange1(address, request, n) }()
	}
	for range clients {
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}

func exchange1(address, request string, n int) error {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // a benchmark's
	reader := bufio.NewReader(conn)
	for range n {
		if _, err := io.WriteString(conn, request); err != nil {
			return err
		}
		for {
			line, err := reader.ReadSlice('\n')
			if err != nil {
				return err
			}
			if len(line) == 2 {
				break
			}
		}
		if _, err := reader.Discard(len(smallBody)); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkServerLoopback compares the CPU time of a request over loopback, with its client: "cpu-ns/op" of each is
// that of server and client together.
func BenchmarkServerLoopback(b *testing.B) {
	const clients = 64
	for name, request := range map[string]string{"small": get, "browser": browserRequest()} {
		for kind, start := range map[string]func(net.Listener) func(){
			"http1": func(listener net.Listener) func() {
				server := &server.Server{Handler: http.HandlerFunc(small), ReadTimeout: time.Minute, IdleTimeout: 3 * time.Minute}
				go func() {
					for {
						conn, err := listener.Accept()
						if err != nil {
							return
						}
						go server.ServeConn(context.Background(), conn)
					}
				}()
				return func() { _ = server.Close() }
			},
			"net-http": func(listener net.Listener) func() {
				server := &http.Server{
					Handler: http.HandlerFunc(small), ReadHeaderTimeout: time.Minute,
					IdleTimeout: 3 * time.Minute,
				}
				go func() { _ = server.Serve(listener) }()
				return func() { _ = server.Close() }
			},
			"echo": func(listener net.Listener) func() {
				// The floor: the system calls alone.
				go func() {
					for {
						conn, err := listener.Accept()
						if err != nil {
							return
						}
						go floor(conn)
					}
				}()
				return func() {}
			},
		} {
			b.Run(fmt.Sprintf("%s/%s", name, kind), func(b *testing.B) {
				listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				stop := start(listener)
				b.ResetTimer()
				before := http1test.CPUTime(b)
				exchanges(b, listener.Addr().String(), request, clients)
				b.ReportMetric(float64(http1test.CPUTime(b)-before)/float64(b.N), "cpu-ns/op")
				_ = listener.Close()
				stop()
			})
		}
	}
}

func floor(conn net.Conn) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Sat, 21 Nov 2026 09:00:00 " +
		"GMT\r\nContent-Length: 128\r\n\r\n" + smallBody)
	buffer := make([]byte, 4096)
	for {
		if _, err := conn.Read(buffer); err != nil {
			_ = conn.Close()
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}
