package oracle

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// backend is an endpoint that reads strictly, keeps what it got, and answers each request with its own name, or with
// the bytes of a script.
type backend struct {
	address  string
	scripts  map[string]script // by target
	listener net.Listener
	serving  sync.WaitGroup

	mutex   sync.Mutex
	links   []*link
	seen    []message
	broken  []string
	changed chan struct{} // closed at the next change
}

// script is what a backend sends instead of a response.
type script struct {
	bytes string
	// holds keeps the connection open.
	holds bool
}

// link is one connection to a backend.
type link struct {
	net.Conn
	pending string // bytes of a request that has not ended
	over    bool
}

func startBackend(t *testing.T, scripts map[string]script) *backend {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{address: listener.Addr().String(), listener: listener, scripts: scripts, changed: make(chan struct{})}
	b.serving.Go(b.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		b.drop(func(*link) bool { return true })
		b.serving.Wait()
	})
	return b
}

func (b *backend) accept() {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		l := &link{Conn: conn}
		b.change(func() { b.links = append(b.links, l) })
		b.serving.Go(func() {
			b.serve(l)
			_ = conn.Close()
			b.change(func() { l.over = true })
		})
	}
}

// change changes what waiters look at.
func (b *backend) change(what func()) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	what()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *backend) serve(l *link) {
	buffer := make([]byte, 64<<10)
	continued := false
	for {
		n, err := l.Read(buffer)
		b.change(func() { l.pending += string(buffer[:n]) })
		for l.pending != "" {
			m, rest, wrong := read(l.pending)
			if errors.Is(wrong, errMore) {
				if len(m.values("Expect")) > 0 && !continued {
					continued = true
					_, _ = io.WriteString(l, "HTTP/1.1 100 Continue\r\n\r\n") // The next read fails, too.
				}
				break
			}
			continued = false
			if wrong != nil {
				b.change(func() { b.broken, l.pending = append(b.broken, fmt.Sprintf("%v in %q", wrong, l.pending)), "" })
				// It closes anyway.
				_, _ = io.WriteString(l, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				return
			}
			b.change(func() { b.seen, l.pending = append(b.seen, m), rest })
			if !b.answer(l, m) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answer reports whether the connection goes on.
func (b *backend) answer(l *link, m message) bool {
	if said, scripted := b.scripts[m.target]; scripted {
		_, err := io.WriteString(l, said.bytes)
		return err == nil && said.holds
	}
	body := answerTo(m.method, m.target)
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", len(body))
	if m.method == "HEAD" {
		body = ""
	}
	_, err := io.WriteString(l, head+body)
	return err == nil && m.keeps()
}

func answerTo(method, target string) string { return "answer to " + method + " " + target }

// say sends bytes on every open connection.
func (b *backend) say(bytes string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, l := range b.links {
		if !l.over {
			_, _ = io.WriteString(l, bytes) // A closed connection is not read.
		}
	}
}

// settle waits until no request is under way, and returns what still is when the time is over; those connections are
// then closed.
func (b *backend) settle(within time.Duration) []string {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		pending, changed := b.underWay()
		if len(pending) == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			b.drop(func(l *link) bool { return l.pending != "" })
			return pending
		}
	}
}

func (b *backend) underWay() ([]string, <-chan struct{}) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.links = slices.DeleteFunc(b.links, func(l *link) bool { return l.over })
	var pending []string
	for _, l := range b.links {
		if l.pending != "" {
			pending = append(pending, l.pending)
		}
	}
	return pending, b.changed
}

func (b *backend) drop(which func(*link) bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, l := range b.links {
		if which(l) {
			_ = l.Close() // Its goroutine does the rest.
		}
	}
}

// take returns what was seen since the last time.
func (b *backend) take() (seen []message, broken []string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	seen, broken = b.seen, b.broken
	b.seen, b.broken = nil, nil
	return seen, broken
}

func (m message) String() string {
	var lines []string
	for _, one := range slices.Concat(m.fields, m.trailers) {
		lines = append(lines, one.name+": "+one.value)
	}
	return fmt.Sprintf("%s %s %s [%s] %q", m.method, m.target, m.version, strings.Join(lines, ", "), m.body)
}
