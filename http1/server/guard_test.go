package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

// sender returns what sends requests over one connection.
func sender(t *testing.T, wrap func(net.Conn) net.Conn) func(http.Handler) http1test.Send {
	return func(handler http.Handler) http1test.Send {
		conn, reader := newRig(t, &server.Server{Handler: handler}, wrap).Open("")
		return func(t *testing.T, r *http.Request) (*http.Response, string) {
			t.Helper()
			if err := r.Write(conn); err != nil {
				t.Fatal(err)
			}
			return answer(t, reader)
		}
	}
}

func TestServerLateCalls(t *testing.T) {
	t.Parallel()
	for kind, wrap := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			http1test.LateCalls(t, serving.ErrFinished, sender(t, wrap), nil)
		})
	}
}

func TestServerKeptStrings(t *testing.T) {
	t.Parallel()
	http1test.KeptStrings(t, sender(t, nil))
}

func TestServerTimeoutHandler(t *testing.T) {
	t.Parallel()
	http1test.TimeoutHandler(t, sender(t, nil))
}

// TestServerBlockedRead lets a handler return while a goroutine of it is blocked in Read.
func TestServerBlockedRead(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		first := make([]byte, 1)
		if _, err := io.ReadFull(r.Body, first); err != nil {
			t.Error(err)
		}
		reading := make(chan struct{})
		go func() {
			_, _ = r.Body.Read(first)
			close(reading)
			_, err := io.Copy(io.Discard, r.Body)
			failed <- err
		}()
		<-reading
		_, _ = io.WriteString(w, "enough")
	})
	conn, reader := g.Open(post("Content-Length: 100") + "12")
	if _, body := answer(t, reader); body != "enough" {
		t.Errorf("the answer is %q", body)
	}
	if err := http1test.Receive(t, failed, "the blocked Read"); err == nil {
		t.Error("the blocked Read ended well")
	}
	_, _ = io.WriteString(conn, get)
	if rest, _ := io.ReadAll(reader); len(rest) > 0 {
		t.Errorf("then %q", rest)
	}
}

// TestServerBlockedWrite lets a handler return while a goroutine of it is blocked in Write, because the client does not
// read.
func TestServerBlockedWrite(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	g := serve(t, func(w http.ResponseWriter, r *http.Request) { http1test.LeaveWriting(w, r, failed) })
	_, reader := g.Open(get)
	if _, err := io.ReadFull(reader, make([]byte, 1<<20)); err != nil {
		t.Error(err)
	}
	if err := http1test.Receive(t, failed, "the blocked Write"); err == nil {
		t.Error("the blocked Write ended well")
	}
}

// TestServerFullDuplex answers each piece of the body before the next is sent, from two goroutines.
func TestServerFullDuplex(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		pieces := make(chan string)
		go func() {
			defer close(pieces)
			buffer := make([]byte, 100)
			for {
				n, err := r.Body.Read(buffer)
				if n > 0 {
					pieces <- string(buffer[:n])
				}
				if err != nil {
					return
				}
			}
		}()
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for piece := range pieces {
			_, _ = io.WriteString(w, strings.ToUpper(piece))
			w.(http.Flusher).Flush()
		}
	})
	conn, reader := g.Open(post("Transfer-Encoding: chunked"))
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		say(t, conn, fmt.Sprintf("7\r\npiece%2d\r\n", i))
		got := make([]byte, 7)
		if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != fmt.Sprintf("PIECE%2d", i) {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	say(t, conn, "0\r\n\r\n")
	if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
		t.Errorf("then %q, %v", rest, err)
	}
	say(t, conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if response, _ := answer(t, reader); response.StatusCode != 200 {
		t.Errorf("%+v", response)
	}
}

func TestServerReadFrom(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	endpoint := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content)
	})
	sources := map[string]func(t *testing.T) io.Reader{
		"bytes": func(*testing.T) io.Reader { return bytes.NewReader(content) },
		"file": func(t *testing.T) io.Reader {
			file, err := os.Open(path)
			if err != nil {
				t.Error(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			return file
		},
		"socket": func(t *testing.T) io.Reader {
			conn, reader := endpoint.Open(get)
			line := ""
			for line != "\r\n" {
				var err error
				if line, err = reader.ReadString('\n'); err != nil {
					t.Error(err)
				}
			}
			ahead, _ := reader.Peek(reader.Buffered())
			return &socketSource{ahead: ahead, rest: io.LimitReader(conn, int64(len(content)-len(ahead)))}
		},
		"part of a file": func(t *testing.T) io.Reader {
			file, err := os.Open(path)
			if err != nil {
				t.Error(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			return io.LimitReader(file, int64(len(content)))
		},
	}
	for name, source := range sources {
		for _, declared := range []bool{true, false} {
			t.Run(fmt.Sprint(name, declared), func(t *testing.T) {
				t.Parallel()
				handled := make(chan struct{}, 2)
				g := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					// The sources are closed with the test.
					defer func() { handled <- struct{}{} }()
					if declared {
						w.Header().Set("Content-Length", fmt.Sprint(len(content)))
					}
					if n, err := copyParts(w, source(t)); n != int64(len(content)) || err != nil {
						t.Errorf("copied %d, %v", n, err)
					}
				})
				conn, reader := g.Open(get)
				if _, body := answer(t, reader); body != string(content) {
					t.Errorf("got %d bytes", len(body))
				}
				say(t, conn, get)
				if _, body := answer(t, reader); body != string(content) {
					t.Errorf("then %d bytes", len(body))
				}
				http1test.Receive(t, handled, "the first handler")
				http1test.Receive(t, handled, "the second handler")
			})
		}
	}
}

// TestServerReadFromStopsAtLength has a file that is longer than what was declared.
func TestServerReadFromStopsAtLength(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		file, err := os.Open(path)
		if err != nil {
			t.Error(err)
		}
		defer file.Close() //nolint:errcheck // a test's
		w.Header().Set("Content-Length", "4")
		if r.URL.Path == "/limit" {
			part := &io.LimitedReader{R: file, N: 4}
			if n, err := io.Copy(w, part); n != 4 || err != nil || part.N != 0 {
				t.Errorf("copied %d, %v, %d left", n, err, part.N)
			}
			return
		}
		if n, err := io.Copy(w, file); n != 4 || !errors.Is(err, http.ErrContentLength) {
			t.Errorf("copied %d, %v", n, err)
		}
	})
	conn, reader := g.Open(get)
	if _, body := answer(t, reader); body != "0123" {
		t.Errorf("got %q", body)
	}
	say(t, conn, "GET /limit HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, body := answer(t, reader); body != "0123" {
		t.Errorf("then %q", body)
	}
}

// copyParts copies what was read ahead and the rest of a socket one after the other, so that the socket itself is seen.
func copyParts(w io.Writer, source io.Reader) (int64, error) {
	parts, ok := source.(*socketSource)
	if !ok {
		return io.Copy(w, source)
	}
	n, err := io.Copy(w, bytes.NewReader(parts.ahead))
	if err != nil {
		return n, err
	}
	rest, err := io.Copy(w, parts.rest)
	return n + rest, err
}

// socketSource is a body of which a part has been read from its socket.
type socketSource struct {
	io.Reader
	ahead []byte
	rest  io.Reader
}

// TestServerTLS serves below TLS, where the client is watched by its descriptor too.
func TestServerTLS(t *testing.T) {
	t.Parallel()
	config := &tls.Config{Certificates: testCertificate(t), MinVersion: tls.VersionTLS12}
	ended := make(chan struct{})
	g := newRig(t, &server.Server{
		ReadTimeout: time.Hour, IdleTimeout: time.Hour, // Longer than the test waits.
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.TLS == nil || !r.TLS.HandshakeComplete {
				t.Error("no state of TLS")
			}
			if r.URL.Path == "/wait" {
				<-r.Context().Done()
				close(ended)
			}
			echo(w, r)
		}),
	}, func(conn net.Conn) net.Conn {
		secure := tls.Server(conn, config)
		if err := secure.HandshakeContext(context.Background()); err != nil {
			t.Error(err)
		}
		return secure
	})
	conn := g.Dial()
	client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test's
	reader := bufio.NewReader(client)
	for range 3 {
		say(t, client, post("Content-Length: 4")+"body")
		if _, body := answer(t, reader); body != `POST / a "body" <nil>` {
			t.Errorf("got %q", body)
		}
	}
	say(t, client, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
	// The handler may not run yet; the context ends nonetheless.
	_ = conn.Close()
	http1test.Receive(t, ended, "the end of the context")
}
