package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/quic-go/quic-go/http3"
)

// overHTTP3 is a closed loop of GETs over HTTP/3, with several streams on each connection.
func overHTTP3(ctx context.Context, o options, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, o.time+timeout)
	defer cancel()
	var all loops
	var running sync.WaitGroup
	transports := make([]*http3.Transport, o.connections)
	for i := range transports {
		transports[i] = &http3.Transport{
			DisableCompression: true,
			TLSClientConfig: &tls.Config{
				ServerName: o.host, CurvePreferences: []tls.CurveID{tls.X25519}, MinVersion: tls.VersionTLS13,
				InsecureSkipVerify: true, // The certificate is self-signed, and verifying it would not measure the proxy.
			},
		}
		if _, err := o.get(ctx, transports[i]); err != nil { // It makes the connection.
			return err
		}
	}
	begun := time.Now()
	for _, transport := range transports {
		for range o.streams {
			running.Go(func() { all.run(begun.Add(o.time), func() (int64, error) { return o.get(ctx, transport) }) })
		}
	}
	running.Wait()
	took := time.Since(begun)
	for _, transport := range transports {
		_ = transport.Close() // The result is there.
	}
	if all.err != nil {
		return all.err
	}
	return all.took.print(stdout, len(all.took), took)
}

// get sends a request and reads its response, whose length it returns.
func (o options) get(ctx context.Context, transport *http3.Transport) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+o.address.String()+o.path, http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Host = o.host
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 3 {
		return 0, fmt.Errorf("%s with status %d", response.Proto, response.StatusCode)
	}
	return io.Copy(io.Discard, response.Body)
}

// loops collects the times of several loops.
type loops struct {
	mutex sync.Mutex
	took  times
	err   error
}

// run repeats a request until the time is over. All responses must have the same length.
func (l *loops) run(end time.Time, get func() (int64, error)) {
	var took times
	var err error
	first := int64(-1)
	for begun := time.Now(); err == nil && begun.Before(end); {
		var length int64
		length, err = get()
		if err == nil && first >= 0 && length != first {
			err = fmt.Errorf("a response has %d bytes, and another %d", length, first)
		}
		first = length
		now := time.Now()
		took = append(took, now.Sub(begun))
		begun = now
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.took = append(l.took, took...)
	if l.err == nil {
		l.err = err
	}
}
