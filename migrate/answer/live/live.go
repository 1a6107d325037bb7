// Package live sends probes to a proxy in operation, such as the controller of a cluster.
//
// Only requests that change nothing are sent: GET, HEAD and OPTIONS without a body. They are sent at a limited rate, as
// they are, each on a connection of its own: net/http would change targets.
package live

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
)

const (
	// DefaultRate is a number of requests per second.
	DefaultRate = 20
	// MaxRate is the highest number of requests per second.
	MaxRate = 1000
	// DefaultTimeout is for one request, with its connection.
	DefaultTimeout = 10 * time.Second
	// MaxResponse is what is read of a response, in bytes.
	MaxResponse = 256 << 10
)

// ErrHarmful is the error for probes that are not sent.
var ErrHarmful = errors.New("only GET, HEAD and OPTIONS without a body, from the own address, are sent")

// Client sends probes. It is safe for concurrent use.
type Client struct {
	// HTTP and HTTPS are the addresses for the schemes, as HOST:PORT. Without one, probes of its scheme fail.
	HTTP, HTTPS string
	// Rate is in requests per second, at most MaxRate; 0 for DefaultRate.
	Rate float64
	// Timeout is for one request; 0 for DefaultTimeout.
	Timeout time.Duration

	mu   sync.Mutex
	next time.Time
}

// Answer implements [answer.Answerer]. What the endpoint receives is not known.
func (c *Client) Answer(ctx context.Context, p probe.Probe) (answer.Answer, error) {
	if !p.Harmless() {
		return answer.Answer{}, ErrHarmful
	}
	head, err := p.Head()
	if err != nil {
		return answer.Answer{}, err
	}
	request := append(head, "Connection: close\r\n\r\n"...)
	if err := c.wait(ctx); err != nil {
		return answer.Answer{}, err
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	response, err := c.send(ctx, p, request)
	if err != nil {
		return answer.Answer{}, err
	}
	return answer.Answer{Status: response.StatusCode, Header: response.Header, Blind: true}, nil
}

// wait waits for the turn of a request.
func (c *Client) wait(ctx context.Context) error {
	rate := c.Rate
	if rate <= 0 {
		rate = DefaultRate
	}
	c.mu.Lock()
	at := time.Now()
	if c.next.After(at) {
		at = c.next
	}
	c.next = at.Add(time.Duration(float64(time.Second) / min(rate, MaxRate)))
	c.mu.Unlock()
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends a request and reads the head of its response.
func (c *Client) send(ctx context.Context, p probe.Probe, request []byte) (*http.Response, error) {
	address := c.HTTP
	if p.Scheme == "https" {
		address = c.HTTPS
	}
	if address == "" {
		return nil, fmt.Errorf("there is no address for %s", p.Scheme)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if p.Scheme == "https" {
		name, _, _ := strings.Cut(p.Host, ":")
		//nolint:gosec // Certificates are not what is compared, and nothing secret is sent.
		secured := tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secured
	}
	if _, err := conn.Write(request); err != nil {
		return nil, explain(ctx, err)
	}
	response, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, MaxResponse)), &http.Request{Method: p.Method})
	if err != nil {
		return nil, explain(ctx, err)
	}
	return response, response.Body.Close()
}

// explain returns the error of the context in place of that of a connection that it has ended.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
