package nginx_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/nginx"
)

// reply is what nginx answers to a target.
type reply struct {
	status int
	// text is the body of a 200, and the Location of a redirection.
	text string
}

func (a reply) String() string { return fmt.Sprintf("%d %q", a.status, a.text) }

// pipeline sends GET requests to the socket "web" over one connection after the other, many at once.
type pipeline struct {
	process *nginx.Process
	conn    net.Conn
	reader  *bufio.Reader
}

// ask returns the answers to targets, which are sent as they are.
func (l *pipeline) ask(ctx context.Context, host string, targets []string) ([]reply, error) {
	answers := make([]reply, 0, len(targets))
	for failed := 0; len(answers) < len(targets); {
		some, err := l.batch(ctx, host, targets[len(answers):])
		answers = append(answers, some...)
		if len(some) > 0 {
			failed = 0
		} else if failed++; failed > 1 {
			return nil, fmt.Errorf("%s %q: %w", host, targets[len(answers)], err)
		}
		if err != nil {
			l.close() // A refused request ends the connection, and what follows is sent again.
		}
	}
	return answers, nil
}

// batch sends all targets, and returns the answers up to the end of the connection.
func (l *pipeline) batch(ctx context.Context, host string, targets []string) (answers []reply, err error) {
	if l.conn == nil {
		if l.conn, err = new(net.Dialer).DialContext(ctx, "unix", l.process.Socket("web")); err != nil {
			return nil, err
		}
		l.reader = bufio.NewReader(l.conn)
	}
	if err := l.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	var requests strings.Builder
	for _, target := range targets {
		fmt.Fprintf(&requests, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, host)
	}
	_, wrong := io.WriteString(l.conn, requests.String()) // What was answered before is there to be read.
	for range targets {
		one, closes, err := l.read()
		if err != nil {
			return answers, err
		}
		if answers = append(answers, one); closes {
			return answers, io.EOF
		}
	}
	return answers, wrong
}

func (l *pipeline) read() (one reply, closes bool, err error) {
	response, err := http.ReadResponse(l.reader, nil)
	if err != nil {
		return reply{}, false, err
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, false, err
	}
	one = reply{status: response.StatusCode}
	switch response.StatusCode {
	case http.StatusOK:
		one.text = string(text)
	case http.StatusMovedPermanently, http.StatusFound:
		one.text = response.Header.Get("Location")
	}
	return one, response.Close, response.Body.Close()
}

func (l *pipeline) close() {
	if l.conn != nil {
		_ = l.conn.Close() // Nothing is expected from it any more.
		l.conn = nil
	}
}

// once returns the answer of a fresh nginx configuration to one target.
func once(t *testing.T, p *nginx.Process, config, host, target string) reply {
	t.Helper()
	if err := p.Reload(config); err != nil {
		t.Fatal(err)
	}
	l := &pipeline{process: p}
	defer l.close()
	answers, err := l.ask(t.Context(), host, []string{target})
	if err != nil {
		t.Fatal(err)
	}
	return answers[0]
}
