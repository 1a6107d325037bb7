package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

// streamed starts the endpoint of package wire, and returns the options of a load on it.
func streamed(t *testing.T) options {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server, err := wire.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return options{
		address: server.Address(), host: "bench.test", connections: 4, time: 50 * time.Millisecond, stream: true,
	}
}

// secured puts a TLS listener in front of an endpoint.
func secured(t *testing.T, o options) options {
	t.Helper()
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	certificate.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", certificate.TLS)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, ended := o.address.String(), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go pipe(client, endpoint)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	o.address = netip.MustParseAddrPort(listener.Addr().String())
	return o
}

// pipe passes bytes on, until both directions have ended.
func pipe(client net.Conn, address string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", address) //nolint:noctx // on loopback
	if err != nil {
		return
	}
	up := make(chan struct{})
	go func() {
		defer close(up)
		_, _ = server.(*net.TCPConn).ReadFrom(client)
		_ = server.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			break
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			break
		}
	}
	_ = client.(*tls.Conn).CloseWrite()
	<-up
}

func TestLoadsOnStreams(t *testing.T) {
	times := `duration=\d+ p50=\d+ p99=\d+ p99\.9=\d+ max=\d+ `
	for _, test := range []struct {
		args   []string
		secure bool
		want   string
	}{
		{args: []string{"bytes"}, want: `^load bytes=[1-9]\d+ duration=\d+\n$`},
		{args: []string{"bytes", "-up"}, want: `^load bytes=[1-9]\d+ duration=\d+\n$`},
		{args: []string{"bytes", "-tls", "-stream"}, secure: true, want: `^load bytes=[1-9]\d+ duration=\d+\n$`},
		{args: []string{"bytes", "-tls", "-stream", "-up"}, secure: true, want: `^load bytes=[1-9]\d+ duration=\d+\n$`},
		{args: []string{"connections"}, want: `^load requests=[1-9]\d* ` + times + `\n$`},
		{args: []string{"connections", "-tls"}, want: `^load requests=[1-9]\d* ` + times + `\n$`},
		{args: []string{"handshakes", "-stream"}, secure: true, want: `^load requests=[1-9]\d* ` + times + `resumed=0\n$`},
		{args: []string{"roundtrips"}, want: `^load requests=[1-9]\d* ` + times + `sent=[1-9]\d*\n$`},
		{args: []string{"datagrams", "-connections", "200"}, want: `^load requests=[1-9]\d* ` + times + `sent=[1-9]\d*\n$`},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			o := streamed(t)
			if test.secure {
				o = secured(t, o)
			}
			var out strings.Builder
			args := append(test.args, "-address", o.address.String(), "-time", o.time.String())
			if !strings.Contains(strings.Join(args, " "), "-connections") {
				args = append(args, "-connections", "4")
			}
			if err := run(t.Context(), args, &out, t.Output()); err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(test.want).MatchString(out.String()) {
				t.Errorf("it printed %q", &out)
			}
		})
	}
}

func TestIdleStreams(t *testing.T) {
	var out strings.Builder
	if err := idle(t.Context(), streamed(t), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "ready\nload open=4\n" {
		t.Errorf("it printed %q", got)
	}
}

// TestDatagramsThatAreLost sends to a socket that answers nothing.
func TestDatagramsThatAreLost(t *testing.T) {
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	var out strings.Builder
	address := netip.MustParseAddrPort(socket.LocalAddr().String())
	o := options{address: address, connections: 3, time: 50 * time.Millisecond}
	if err := datagrams(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "load requests=0 ") || !strings.HasSuffix(got, " sent=3\n") {
		t.Errorf("it printed %q", got)
	}
}

// TestStreamsFailWithTheProxy loads a server that accepts connections and closes them.
func TestStreamsFailWithTheProxy(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.Close()
		}
	}()
	for _, name := range []string{"bytes", "connections", "roundtrips"} {
		args := []string{name, "-address", listener.Addr().String(), "-time", "50ms"}
		if err := run(t.Context(), args, new(strings.Builder), t.Output()); err == nil {
			t.Errorf("%s: connections without an answer are measured", name)
		}
	}
}
