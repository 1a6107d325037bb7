package gateway

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
	// every is the time between two requests of a probe, where the published benchmark has 5 ms.
	every = time.Millisecond
	// timeout bounds every wait.
	timeout = 60 * time.Second
)

// probe is one persistent connection.
type probe struct {
	conn   net.Conn
	reader *bufio.Reader
}

// answer is a response.
type answer struct {
	status       int
	body, filter string // filter is the value of the field that a filter sets
}

func dial(ctx context.Context, address string) (*probe, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &probe{conn, bufio.NewReader(conn)}, nil
}

func (p *probe) close() { _ = p.conn.Close() }

// ask sends one request.
func (p *probe) ask(host, path string) (answer, error) {
	if err := p.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return answer{}, err
	}
	if _, err := fmt.Fprintf(p.conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host); err != nil {
		return answer{}, err
	}
	response, err := http.ReadResponse(p.reader, nil)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // It is read.
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(body), response.Header.Get(filterField)}, err
}

// await repeats a request until the status is 200, and returns the time. Others counts the answers that are neither 200
// nor 404.
func (p *probe) await(ctx context.Context, host, path string) (when time.Time, others int, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		got, err := p.ask(host, path)
		switch {
		case err != nil:
			return time.Time{}, others, fmt.Errorf("%s: %w", host, err)
		case got.status == http.StatusOK:
			return time.Now(), others, nil
		case got.status != http.StatusNotFound:
			others++
		}
		pause(ctx, every)
		if ctx.Err() != nil {
			return time.Time{}, others, fmt.Errorf("%s: still %d after %v", host, got.status, timeout)
		}
	}
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
