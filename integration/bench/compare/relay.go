package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

// Kinds of loads on TCP and UDP routers, as the command load names them.
const (
	manyBytes   = "bytes"
	connections = "connections"
	roundTrips  = "roundtrips"
	datagrams   = "datagrams"
)

// relay is a load on a TCP or UDP router.
type relay struct {
	kind        string
	connections int
	// up sends bytes to the server instead of receiving them.
	up bool
	// secure uses TLS, which ends at the proxy; through sends a ClientHello, by whose server name the proxy routes.
	secure, through bool
}

// String describes the load.
func (r relay) String() string {
	what := map[string]string{
		manyBytes:   "bytes from the server to the client, on %d connections at a time",
		connections: "connections with one byte in each direction, %d at a time",
		roundTrips:  "round trips of one byte, on %d connections at a time",
		datagrams:   "datagrams of 64 bytes that the server returns, from %d sockets in turns, 128 at a time",
	}[r.kind]
	switch {
	case r.up:
		what = "bytes from the client to the server, on %d connections at a time"
	case r.through:
		what = "connections with a ClientHello in one direction and a byte in the other, %d at a time"
	case r.secure && r.kind == connections:
		what = "full handshakes of TLS 1.3 with one byte in each direction, %d at a time"
	}
	return fmt.Sprintf(what, r.connections)
}

// run runs the command load.
func (r relay) run(ctx context.Context, at target) (outcome, error) {
	name, flags := r.kind, []string{"-connections", fmt.Sprint(r.connections)}
	switch {
	case r.secure && r.kind == connections:
		name, flags = "handshakes", append(flags, "-stream")
	case r.secure || r.through:
		flags = append(flags, "-tls", "-stream")
	}
	if r.up {
		flags = append(flags, "-up")
	}
	printed, err := followed(ctx, at.folder, at.time+20*time.Second, at.started, at.own(name, r.port(at), flags...)...)
	if err != nil {
		return outcome{}, err
	}
	values, err := resultLine("load ", printed)
	if err != nil {
		return outcome{}, err
	}
	if values["bytes"] > 0 && values["duration"] > 0 {
		return outcome{
			bytes: values["bytes"], perSecond: values["bytes"] / values["duration"] * 1e6, raw: printed,
		}, nil
	}
	out, err := ownOutcome(values, printed)
	if r.kind == datagrams {
		out.sent = values["sent"]
	}
	return out, err
}

// port returns the port of the proxy for the load.
func (r relay) port(at target) int {
	switch {
	case r.secure:
		return at.secure
	case r.through:
		return at.through
	}
	return at.plain
}

// check makes one exchange with the endpoint, and with a ClientHello one that the proxy must refuse.
func (r relay) check(ctx context.Context, at target) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := r.exchange(ctx, at, host); err != nil {
		return err
	}
	if !r.through {
		return nil
	}
	if err := r.exchange(ctx, at, "other.test"); err == nil {
		return fmt.Errorf("the server name other.test is routed")
	}
	return nil
}

// exchange sends a message with a server name, if there is TLS, and reads the answer of the endpoint.
func (r relay) exchange(ctx context.Context, at target, name string) error {
	network, text, want := "tcp", []byte{wire.Echo, 'x'}, "x"
	switch {
	case r.kind == datagrams:
		network, text, want = "udp", []byte("x"), "x"
	case r.through:
		hello, err := wire.Hello(ctx, name)
		if err != nil {
			return err
		}
		text, want = hello, string(wire.Acknowledgment)
	}
	connection, err := new(net.Dialer).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", r.port(at)))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if err := connection.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	if r.secure {
		connection = tls.Client(connection, &tls.Config{
			ServerName:         name,
			InsecureSkipVerify: true, // The certificate is self-signed.
		})
	}
	if _, err := connection.Write(text); err != nil {
		return err
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(connection, got); err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("the endpoint answers with %q, not %q", got, want)
	}
	return nil
}
