// Command load generates load that wrk and h2load cannot: requests on a fixed schedule, TLS handshakes, idle
// connections, HTTP/3, and for TCP and UDP routers connections, bytes, round trips and datagrams by the protocol of
// package wire.
//
// Given the address of a proxy and bounds of count and time, it prints one line, "load NAME=VALUE ...", with times in
// microseconds. In an open loop, the time of a request begins when it is due, not when it is sent, so that stalls of a
// proxy count for all delayed requests. Only loopback addresses are accepted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "load: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// options are common to all loads.
type options struct {
	address     netip.AddrPort
	host, path  string
	connections int
	// streams is the number of requests at a time on each connection, for HTTP/3.
	streams int
	time    time.Duration
	// rate is the number of requests per second of an open loop.
	rate float64
	// resume makes handshakes resume an earlier session.
	resume bool
	// stream makes handshakes and idle use the protocol of package wire instead of HTTP.
	stream bool
	// multiplexed makes idle use HTTP/2 over TLS.
	multiplexed bool
	// secure is TLS for bytes, and a ClientHello for connections; up sends bytes instead of receiving them.
	secure, up bool
}

// Bounds of options.
const (
	mostConnections = 15_000
	mostStreams     = 100
	mostRate        = 200_000
	mostTime        = 5 * time.Minute
)

// run is main with explicit dependencies. The first argument is the kind of load.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	loads := map[string]func(context.Context, options, io.Writer) error{
		"rate": rate, "handshakes": handshakes, "http3": overHTTP3, "idle": idle,
		"bytes": manyBytes, "connections": connections, "roundtrips": roundTrips, "datagrams": datagrams,
	}
	if len(args) == 0 || loads[args[0]] == nil {
		return fmt.Errorf("usage: load %s [flags]", strings.Join(slices.Sorted(maps.Keys(loads)), "|"))
	}
	o, err := parse(args[0], args[1:], stderr)
	if err != nil {
		return err
	}
	return loads[args[0]](ctx, o, stdout)
}

func parse(name string, args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("load "+name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("address", "", "address and port of the proxy, on loopback")
	flags.StringVar(&o.host, "host", "bench.test", "host of the requests")
	flags.StringVar(&o.path, "path", "/small", "path of the requests")
	flags.IntVar(&o.connections, "connections", 64, "number of connections")
	flags.IntVar(&o.streams, "streams", 1, "requests at a time on each connection, for http3")
	flags.DurationVar(&o.time, "time", 3*time.Second, "how long")
	flags.Float64Var(&o.rate, "rate", 1000, "requests in a second, for rate")
	flags.BoolVar(&o.resume, "resume", false, "resume sessions, for handshakes")
	flags.BoolVar(&o.stream, "stream", false, "use the protocol of package wire instead of HTTP, for handshakes and idle")
	flags.BoolVar(&o.multiplexed, "http2", false, "use HTTP/2 over TLS, for idle")
	flags.BoolVar(&o.secure, "tls", false, "use TLS, for bytes, or send a ClientHello alone, for connections")
	flags.BoolVar(&o.up, "up", false, "send instead of receiving, for bytes")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.address, err = netip.ParseAddrPort(*address); err != nil {
		return o, fmt.Errorf("-address: %w", err)
	}
	switch {
	case !o.address.Addr().IsLoopback() || !o.address.Addr().Is4():
		return o, fmt.Errorf("-address: %s is not of 127.0.0.0/8", o.address)
	case o.connections < 1 || o.connections > mostConnections:
		return o, fmt.Errorf("-connections is %d, and must be 1 to %d", o.connections, mostConnections)
	case o.streams < 1 || o.streams > mostStreams:
		return o, fmt.Errorf("-streams is %d, and must be 1 to %d", o.streams, mostStreams)
	case o.time <= 0 || o.time > mostTime:
		return o, fmt.Errorf("-time is %v, and must be at most %v", o.time, mostTime)
	case o.rate <= 0 || o.rate > mostRate:
		return o, fmt.Errorf("-rate is %v, and must be at most %d", o.rate, mostRate)
	}
	return o, nil
}

// request returns the bytes of a GET, with fields such as "Name: value\r\n".
func (o options) request(fields string) []byte {
	return []byte("GET " + o.path + " HTTP/1.1\r\nHost: " + o.host + "\r\n" + fields + "\r\n")
}
