package relay_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/forward/relay"
)

// joiner joins two connections until both directions have ended.
type joiner func(client, server net.Conn)

func engine(client, server net.Conn) {
	options := relay.Options{TerminationDelay: -1, IdleTimeout: eventTimeout}
	new(relay.Engine).Run(context.Background(), client, server, options)
}

// ioCopy is what proxies do that copy with io.Copy: it splices where both sides are TCP, else it copies.
func ioCopy(client, server net.Conn) {
	var both sync.WaitGroup
	copyAll := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.(conn).CloseWrite()
	}
	both.Go(func() { copyAll(server, client) })
	copyAll(client, server)
	both.Wait()
	_, _ = client.Close(), server.Close()
}

// wrapped hides that a connection is TCP, as proxies do that count bytes in Read: io.Copy copies.
type wrapped struct {
	net.Conn
	half conn
}

func (w wrapped) CloseWrite() error { return w.half.CloseWrite() }

func ioCopyWrapped(client, server net.Conn) {
	ioCopy(wrapped{client, client.(conn)}, wrapped{server, server.(conn)})
}

func eachJoiner(b *testing.B, run func(b *testing.B, client, server net.Conn)) {
	for _, secure := range []bool{false, true} {
		for _, j := range []struct {
			name string
			join joiner
		}{{"relay", engine}, {"io.Copy", ioCopy}, {"io.Copy wrapped", ioCopyWrapped}} {
			name := j.name
			if secure {
				name += ", TLS client"
			}
			b.Run(name, func(b *testing.B) {
				client, nearClient := connect(b, secure)
				server, nearServer := connect(b, false)
				var done sync.WaitGroup
				done.Go(func() { j.join(nearClient, nearServer) })
				run(b, client, server)
				_, _ = client.Close(), server.Close()
				done.Wait()
			})
		}
	}
}

// BenchmarkThroughput sends a long flow from the server to the client.
func BenchmarkThroughput(b *testing.B) {
	const piece = 1 << 20
	eachJoiner(b, func(b *testing.B, client, server net.Conn) {
		b.SetBytes(piece)
		b.ReportAllocs()
		var sending sync.WaitGroup
		before := cpuTime(b)
		b.ResetTimer()
		n := int64(b.N) * piece
		sending.Go(func() {
			out := make([]byte, 128<<10)
			for left := n; left > 0; left -= int64(len(out)) {
				if _, err := server.Write(out); err != nil {
					b.Error(err)
					return
				}
			}
		})
		in := make([]byte, 256<<10)
		for left := n; left > 0; {
			got, err := client.Read(in)
			if left -= int64(got); err != nil {
				b.Fatal(err)
			}
		}
		sending.Wait()
		b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
	})
}

// cpuTime is that of the process, the peers of the relay included: a busy machine changes it less than the time.
func cpuTime(b *testing.B) int64 {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// BenchmarkRoundTrip sends one byte there and back.
func BenchmarkRoundTrip(b *testing.B) {
	eachJoiner(b, func(b *testing.B, client, server net.Conn) {
		var echoing sync.WaitGroup
		echoing.Go(func() {
			piece := make([]byte, 1)
			for {
				if _, err := server.Read(piece); err != nil {
					return
				}
				_, _ = server.Write(piece)
			}
		})
		piece := make([]byte, 1)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := client.Write(piece); err != nil {
				b.Fatal(err)
			}
			if _, err := client.Read(piece); err != nil {
				b.Fatal(err)
			}
		}
		_ = client.Close()
		echoing.Wait()
	})
}
