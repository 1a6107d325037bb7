package population

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// every is the time between two requests of a wait.
	every = time.Millisecond
	// timeout bounds every wait.
	timeout = time.Minute
)

// Probe is one persistent connection without TLS. It is for one goroutine.
type Probe struct {
	conn   net.Conn
	reader *bufio.Reader
}

// Dial connects.
func Dial(ctx context.Context, address string) (*Probe, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &Probe{conn, bufio.NewReader(conn)}, nil
}

// Close closes the connection.
func (p *Probe) Close() { _ = p.conn.Close() }

// Ask sends a request and returns the answer, whose body has been read.
func (p *Probe) Ask(host, path string) (*http.Response, error) {
	if err := p.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(p.conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(p.reader, nil)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return nil, err
	}
	return answer, answer.Body.Close()
}

// Await repeats a request until the answer is as wanted, and returns the time of that.
func (p *Probe) Await(ctx context.Context, host, path string, wanted func(*http.Response) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		answer, err := p.Ask(host, path)
		if err != nil {
			return time.Time{}, fmt.Errorf("%s: %w", host, err)
		}
		if wanted(answer) {
			return time.Now(), nil
		}
		if !wait(ctx, every) {
			return time.Time{}, fmt.Errorf("%s%s: still %s after %v", host, path, answer.Status, timeout)
		}
	}
}

// wait is false when the context ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
