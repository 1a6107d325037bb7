package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// tap is an endpoint of HTTP/1.1 that keeps every byte that it gets.
type tap struct {
	address string
	mutex   sync.Mutex
	got     []*bytes.Buffer // one for each connection
}

func startTap(t *testing.T) *tap {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{address: listener.Addr().String()}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			_, _ = io.WriteString(w, "answer to "+r.URL.Path)
		}
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(tapListener{listener, p}) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return p
}

type tapListener struct {
	net.Listener
	tap *tap
}

// Accept taps the next connection.
func (l tapListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.tap.mutex.Lock()
	defer l.tap.mutex.Unlock()
	l.tap.got = append(l.tap.got, new(bytes.Buffer))
	return &tapped{connection, l.tap, len(l.tap.got) - 1}, nil
}

type tapped struct {
	net.Conn
	tap   *tap
	index int
}

// Read reads and keeps.
func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.tap.mutex.Lock()
	defer c.tap.mutex.Unlock()
	c.tap.got[c.index].Write(p[:n])
	return n, err
}

// requests parses everything that has arrived, strictly: METHOD URI BODY for each request. A message whose length can
// be read in two ways, or bytes that are no request, are errors.
func (p *tap) requests() ([]string, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var found []string
	for _, one := range p.got {
		reader := bufio.NewReader(bytes.NewReader(one.Bytes()))
		for {
			if _, err := reader.Peek(1); errors.Is(err, io.EOF) {
				break
			}
			request, err := http.ReadRequest(reader)
			if err != nil {
				return found, fmt.Errorf("%w in %q", err, one)
			}
			body, err := io.ReadAll(request.Body)
			if err != nil {
				return found, fmt.Errorf("%w in %q", err, one)
			}
			found = append(found, fmt.Sprintf("%s %s %s", request.Method, request.RequestURI, body))
		}
		if err := strict(one.String()); err != nil {
			return found, err
		}
	}
	return found, nil
}

// strict looks at the heads as they came.
func strict(text string) error {
	for block := range strings.SplitSeq(text, "\r\n\r\n") {
		lower := "\r\n" + strings.ToLower(block)
		lengths, chunked := strings.Count(lower, "\r\ncontent-length:"), strings.Count(lower, "\r\ntransfer-encoding:")
		if lengths+chunked > 1 {
			return fmt.Errorf("two lengths in %q", block)
		}
		if strings.Contains(strings.ReplaceAll(block, "\r\n", ""), "\n") || strings.Contains(lower, "\r\n ") ||
			strings.Contains(lower, "\r\n\t") {
			return fmt.Errorf("a bare or folded line in %q", block)
		}
	}
	return nil
}
