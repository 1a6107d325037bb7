package entrypoint_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/entrypoint"
)

// gone waits until no connection is listed any more.
func (s *served) gone(directory *entrypoint.Directory) {
	s.t.Helper()
	s.eventually("the end of the connections", func() bool {
		_, total := directory.Connections(entrypoint.Selection{}, 10)
		return total == 0
	})
}

// TestGracefulCloseOfIdleConnections closes connections at once whose client sends no further request.
func TestGracefulCloseOfIdleConnections(t *testing.T) {
	t.Parallel()
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s, directory := listed(t, http.HandlerFunc(hello), nil)
			client, url := s.client(protocol)
			do(t, client, http.MethodGet, url, nil)
			s.record()
			// The end of the response may be noted a moment after the client has it.
			var done entrypoint.ClosedConnections
			s.eventually("an idle connection", func() bool {
				done = directory.CloseConnections(t.Context(), entrypoint.Selection{}, true)
				return done.Closing == 0
			})
			if done.Remaining != 0 || done.Closed > 1 {
				t.Errorf("closed: %+v", done)
			}
			s.gone(directory)
		})
	}
}

// TestGracefulCloseDuringAResponse ends connections with the response that is under way.
func TestGracefulCloseDuringAResponse(t *testing.T) {
	t.Parallel()
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			begun, release := make(chan struct{}), make(chan struct{})
			s, directory := listed(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(begun)
				<-release
				hello(w, r)
			}), nil)
			client, url := s.client(protocol)
			type result struct {
				closes bool
				text   string
				err    error
			}
			answered := make(chan result, 1)
			go func() {
				response, text, err := try(t, client, http.MethodGet, url, nil)
				answered <- result{closes: err == nil && response.Close, text: text, err: err}
			}()
			receive(t, begun, "the request")
			done := directory.CloseConnections(t.Context(), entrypoint.Selection{}, true)
			if want := (entrypoint.ClosedConnections{Closing: 1}); done != want {
				t.Errorf("closed: %+v, want %+v", done, want)
			}
			close(release)
			got := receive(t, answered, "the response")
			if got.err != nil || got.text != "hello" || strings.HasPrefix(protocol, "h1") != got.closes {
				t.Errorf("the response: %+v", got)
			}
			s.gone(directory)
		})
	}
}

// TestGracefulCloseOfLongResponses ends a connection of HTTP/1.1 whose response has begun before.
func TestGracefulCloseOfLongResponses(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s, directory := listed(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a")
		_ = http.NewResponseController(w).Flush()
		<-release
		_, _ = io.WriteString(w, "b")
	}), nil)
	conn := s.dial()
	say(t, conn, get)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if done := directory.CloseConnections(t.Context(), entrypoint.Selection{}, true); done.Closing != 1 {
		t.Errorf("closed: %+v", done)
	}
	close(release)
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "ab" {
		t.Errorf("body %q, %v", body, err)
	}
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("the connection goes on: %q, %v", rest, err)
	}
}

// TestGracefulCloseLeavesUpgrades leaves connections open that no response ends, and counts them apart.
func TestGracefulCloseLeavesUpgrades(t *testing.T) {
	t.Parallel()
	for _, outlives := range []bool{false, true} {
		name := "within the handler"
		if outlives {
			name = "behind the handler"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			upgraded := make(chan struct{})
			s, directory := listed(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, buffers, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				echo := func() {
					line, _ := buffers.ReadString('\n')
					_, _ = io.WriteString(conn, line)
					_ = conn.Close()
				}
				if close(upgraded); outlives {
					go echo()
				} else {
					echo()
				}
			}), nil)
			conn := s.dial()
			say(t, conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			receive(t, upgraded, "the upgrade")
			if outlives {
				s.record()
			}
			want := entrypoint.ClosedConnections{Remaining: 1}
			s.eventually("the upgrade", func() bool {
				return directory.CloseConnections(t.Context(), entrypoint.Selection{}, true) == want
			})
			say(t, conn, "ping\n")
			if got, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(got), "\r\n\r\nping\n") {
				t.Errorf("got %q, error %v", got, err)
			}
			s.gone(directory)
		})
	}
}

// TestGracefulCloseBeforeTheFirstRequest ends a new connection with its first response, and one that has been silent.
func TestGracefulCloseBeforeTheFirstRequest(t *testing.T) {
	t.Parallel()
	s, directory := listed(t, http.HandlerFunc(hello), nil)
	conn := s.dial()
	s.eventually("the connection", func() bool {
		_, total := directory.Connections(entrypoint.Selection{}, 10)
		return total == 1
	})
	done := directory.CloseConnections(t.Context(), entrypoint.Selection{}, true)
	switch {
	case done == entrypoint.ClosedConnections{Closing: 1}:
		say(t, conn, get)
		if response, _ := answer(t, bufio.NewReader(conn)); !response.Close {
			t.Error("the first response is not the last")
		}
	case done != entrypoint.ClosedConnections{Closed: 1}: // On a slow machine it has been silent for a second.
		t.Errorf("closed: %+v", done)
	}
	s.gone(directory)

	silent := s.dial()
	s.eventually("the end of a connection that has been silent for a second", func() bool {
		return directory.CloseConnections(t.Context(), entrypoint.Selection{}, true).Closed == 1
	})
	if rest, err := io.ReadAll(silent); err == nil && len(rest) > 0 {
		t.Errorf("got %q", rest)
	}
}
