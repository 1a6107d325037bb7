package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/integration/bench/wire"
)

// mostHandshakes is the maximum number of handshakes, so that ports do not run out.
const mostHandshakes = 50_000

// handshakes opens TLS connections in turn on each worker, with one request or exchange each: TLS 1.3 with X25519,
// which all proxies support.
func handshakes(ctx context.Context, o options, stdout io.Writer) error {
	begun := time.Now()
	workers := make([]worker, o.connections)
	var running sync.WaitGroup
	for i := range workers {
		running.Go(func() { workers[i].work(ctx, o, mostHandshakes/o.connections) })
	}
	running.Wait()
	var all times
	resumed := 0
	for _, w := range workers {
		if w.err != nil {
			return w.err
		}
		all, resumed = append(all, w.took...), resumed+w.resumed
	}
	return all.print(stdout, len(all), time.Since(begun), fmt.Sprintf("resumed=%d", resumed))
}

// worker opens connections in turn.
type worker struct {
	took    times
	resumed int
	err     error
}

// work opens connections until its time is over, and completes the last one.
func (w *worker) work(ctx context.Context, o options, most int) {
	settings := o.tls()
	if o.resume {
		settings.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	var got answer
	request := o.request("")
	end := time.Now().Add(o.time)
	for range most {
		begun := time.Now()
		if begun.After(end) {
			return
		}
		resumed, err := handshake(ctx, o, settings, request, &got)
		if err != nil {
			w.err = err
			return
		}
		w.took = append(w.took, time.Since(begun))
		if resumed {
			w.resumed++
		}
	}
}

// handshake opens a connection, sends a request, reads the response and closes the connection.
func handshake(ctx context.Context, o options, settings *tls.Config, request []byte, got *answer) (resumed bool,
	err error,
) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", o.address.String())
	if err != nil {
		return false, err
	}
	if err := connection.SetDeadline(time.Now().Add(timeout)); err != nil {
		return false, err
	}
	secure := tls.Client(connection, settings)
	defer func() { _ = secure.Close() }()
	if err := secure.HandshakeContext(ctx); err != nil {
		return false, err
	}
	state := secure.ConnectionState()
	if !slices.Contains([]string{"", "http/1.1"}, state.NegotiatedProtocol) {
		return false, fmt.Errorf("the proxy speaks %s", state.NegotiatedProtocol)
	}
	if o.stream {
		return state.DidResume, once(secure)
	}
	if _, err := secure.Write(request); err != nil {
		return false, err
	}
	for complete := false; !complete; {
		n, err := secure.Read(got.buffer())
		if err != nil {
			return false, err
		}
		if complete, err = got.add(n); err != nil {
			return false, err
		}
	}
	return state.DidResume, nil
}

// tls returns the settings of a client.
func (o options) tls() *tls.Config {
	settings := &tls.Config{
		ServerName: o.host, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
		CurvePreferences:   []tls.CurveID{tls.X25519},
		InsecureSkipVerify: true, // The certificate is self-signed, and verifying it would not measure the proxy.
	}
	if o.stream {
		settings.NextProtos = nil
	}
	return settings
}

// once makes the exchange of wire.Once, until the end of the connection.
func once(connection net.Conn) error {
	if _, err := connection.Write([]byte{wire.Once}); err != nil {
		return err
	}
	return ended(connection, []byte{wire.Acknowledgment})
}

// ended reads the expected bytes, and the end of the connection.
func ended(connection io.Reader, want []byte) error {
	got, err := io.ReadAll(io.LimitReader(connection, int64(len(want))+1))
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("the answer is %q, not %q", got, want)
	}
	return err
}
