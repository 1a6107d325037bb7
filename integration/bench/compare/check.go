package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// check sends the request once, and checks the response.
func (t target) check(ctx context.Context) error {
	scheme, method := "http", http.MethodGet
	if t.tls {
		scheme = "https"
	}
	if t.body > 0 {
		method = http.MethodPost
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	address := fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, t.port(), t.path)
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(strings.Repeat("x", t.body)))
	if err != nil {
		return err
	}
	request.Host = t.hosts[len(t.hosts)-1]
	for _, field := range t.fields {
		name, value := split(field)
		request.Header.Set(name, value)
	}
	transport := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: t.multiplexed,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // The certificate is self-signed.
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := t.decode(response)
	if err != nil {
		return err
	}
	length, err := io.Copy(io.Discard, body)
	if err != nil {
		return err
	}
	return t.compare(response, length)
}

// compare returns the difference from the expected response.
func (t target) compare(response *http.Response, length int64) error {
	name, value := split(t.answer)
	count := 0
	for _, values := range response.Header {
		count += len(values)
	}
	switch {
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers with status %d", t.path, response.StatusCode)
	case length != t.length:
		return fmt.Errorf("%s answers with %d bytes, not %d", t.path, length, t.length)
	case response.Header.Get(name) != value:
		return fmt.Errorf("%s answers with %q in %s, not %q", t.path, response.Header.Get(name), name, value)
	case count < t.count:
		return fmt.Errorf("%s answers with %d header fields, not %d", t.path, count, t.count)
	}
	return nil
}
