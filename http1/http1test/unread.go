package http1test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// unread is a request whose body the handler does not read, with another one behind it.
type unread struct {
	name, request string
	flush         bool
	// responses is how many come.
	responses int
	// closes says that the first announces the end of the connection, which may end without it.
	closes bool
}

func unreadBodies() []unread {
	post := func(lines ...string) string {
		return "POST / HTTP/1.1\r\nHost: a\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
	}
	long, chunked := post("Content-Length: 1000")+"body", post("Transfer-Encoding: chunked")
	return []unread{
		{"read in passing", post("Content-Length: 4") + "body", false, 2, false},
		{"read in passing after a flush", post("Content-Length: 4") + "body", true, 2, false},
		{"chunks", chunked + "4\r\nbody\r\n0\r\n\r\n", false, 2, false},
		{"bad chunks", chunked + "zz\r\n", false, 1, false},
		{"bad chunks after a flush", chunked + "zz\r\n", true, 1, false},
		{"incomplete", long, false, 1, false},
		{"incomplete after a flush", long, true, 1, false},
		{"too long", post("Content-Length: 400000") + strings.Repeat("x", 399_000), false, 1, true},
		{"endless chunks", chunked + strings.Repeat("3e8\r\n"+strings.Repeat("x", 1000)+"\r\n", 300), false, 1, false},
		{"100-continue not sent", post("Content-Length: 4", "Expect: 100-continue"), false, 1, true},
		{"100-continue not sent before a flush", post("Content-Length: 4", "Expect: 100-continue"), true, 1, true},
	}
}

// UnreadBodies sends bodies that the handler does not read, and looks at what becomes of the connection. dial opens a
// connection to the server of a handler.
func UnreadBodies(t *testing.T, dial func(*testing.T, http.Handler) net.Conn) {
	t.Helper()
	for _, test := range unreadBodies() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var mutex sync.Mutex
			var seen []string
			conn := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mutex.Lock()
				seen = append(seen, r.URL.Path)
				mutex.Unlock()
				_, _ = io.WriteString(w, "response")
				if test.flush {
					_ = http.NewResponseController(w).Flush()
				}
			}))
			go func() {
				_, _ = io.WriteString(conn, test.request+"GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			}()
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			if response.Close != test.closes {
				t.Errorf("Connection: close is %v", response.Close)
			}
			if _, err := io.ReadAll(response.Body); err != nil {
				t.Error(err)
			}
			rest, err := io.ReadAll(reader)
			if got := 1 + strings.Count(string(rest), "HTTP/1.1"); got != test.responses {
				t.Errorf("%d responses, want %d: %q, %v", got, test.responses, rest, err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			if len(seen) != test.responses {
				t.Errorf("the handler saw %q", seen)
			}
		})
	}
}
