package kubernetes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// probe is one persistent connection for requests to one route after the other.
type probe struct {
	conn   net.Conn
	reader *bufio.Reader
	every  time.Duration // between two questions
	fields string        // further lines of the head, each with its line break
}

const (
	// every is the time between two questions of a probe that is alone.
	every = time.Millisecond
	// timeout bounds every wait.
	timeout = 30 * time.Second
)

func dial(ctx context.Context, address string) (*probe, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &probe{conn: conn, reader: bufio.NewReader(conn), every: every}, nil
}

func (p *probe) close() { _ = p.conn.Close() }

// ask sends one request and returns the status and the body.
func (p *probe) ask(host, path string) (status int, text string, err error) {
	if err := p.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return 0, "", err
	}
	if _, err := fmt.Fprintf(p.conn, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, host, p.fields); err != nil {
		return 0, "", err
	}
	response, err := http.ReadResponse(p.reader, nil)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close() //nolint:errcheck // It is read.
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// until repeats a request until the response is as wanted, and returns the time.
func (p *probe) until(ctx context.Context, host, path string, wanted func(status int, text string) bool) (time.Time,
	error,
) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	for {
		status, text, err := p.ask(host, path)
		if err != nil {
			return time.Time{}, fmt.Errorf("%s: %w", host, err)
		}
		if wanted(status, text) {
			return time.Now(), nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%s: still %d %q after %v", host, status, text, timeout)
		}
	}
}

// moved is one change as observed by a client.
type moved struct {
	version                  string
	asked, answered, arrived time.Time
	err                      error
}

// during makes a change, which returns the version of the object, and repeats a request from before that until the
// response is as wanted.
func (p *probe) during(
	ctx context.Context, host string, wanted func(int, string) bool, change func(context.Context) (string, error),
) moved {
	m := moved{asked: time.Now()}
	arrived := make(chan error, 1)
	go func() {
		var err error
		m.arrived, err = p.until(ctx, host, path, wanted)
		arrived <- err
	}()
	var err error
	m.version, err = change(ctx)
	m.answered = time.Now()
	if m.err = <-arrived; err != nil {
		m.err = err
	}
	return m
}

// colourIs waits for an answer of that colour.
func colourIs(c colour) func(int, string) bool {
	return func(status int, text string) bool { return status == http.StatusOK && text == c.String() }
}

// ok waits for any good answer.
func ok(status int, _ string) bool { return status == http.StatusOK }
