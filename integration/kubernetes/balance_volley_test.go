package kubernetes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// perCrew is how many connections send one kind of request to a crew, each the next as soon as it has the answer
// before.
const perCrew = 3

// volley is many requests at a time to all crews.
type volley struct {
	t      testing.TB
	stop   func()
	sent   atomic.Int64
	scores map[string]*score // by crew and method
}

// score counts the results of one kind of request.
type score struct {
	mu      sync.Mutex
	sent    int
	failed  []string
	slowest time.Duration
}

// fire begins.
func fire(t testing.TB, g *gate) *volley {
	t.Helper()
	v := &volley{t: t, scores: map[string]*score{}}
	done := make(chan struct{})
	var busy sync.WaitGroup
	for _, one := range crews() {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			s := &score{}
			v.scores[one.name+" "+method] = s
			for i := range perCrew {
				gun := &gun{address: g.Addr("web"), host: one.name + ".test", method: method, number: i}
				busy.Go(func() { v.run(gun, s, done) })
			}
		}
	}
	v.stop = sync.OnceFunc(func() { close(done); busy.Wait() })
	t.Cleanup(v.stop)
	return v
}

func (v *volley) requests() int64 { return v.sent.Load() }

func (v *volley) run(g *gun, s *score, done <-chan struct{}) {
	defer g.close()
	for {
		select {
		case <-done:
			return
		default:
		}
		began := time.Now()
		err := g.shoot(v.t.Context())
		if v.t.Context().Err() != nil {
			return // The test has failed already.
		}
		v.sent.Add(1)
		s.note(err, time.Since(began))
	}
}

func (s *score) note(err error, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	s.slowest = max(s.slowest, took)
	if err != nil {
		s.failed = append(s.failed, time.Now().Format(time.StampMicro)+" "+err.Error())
	}
}

// gun is one connection, which costs less than a client of net/http.
type gun struct {
	address, host, method string
	number                int
	connection            net.Conn
	reader                *bufio.Reader
}

// shoot sends one request and reads the answer. Now and then a request takes a while.
func (g *gun) shoot(ctx context.Context) error {
	if g.connection == nil {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", g.address)
		if err != nil {
			return err
		}
		g.connection, g.reader = connection, bufio.NewReader(connection)
	}
	g.number++
	path, body := "/", ""
	if g.number%50 == 0 {
		path = "/?wait=30ms"
	}
	if g.method == http.MethodPost {
		body = "a body that must not be sent twice"
	}
	response, err := g.exchange(path, body)
	if err != nil || response.Close {
		g.close()
	}
	if err == nil && response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return err
}

func (g *gun) exchange(path, body string) (*http.Response, error) {
	if err := g.connection.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	length := ""
	if body != "" {
		length = fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	if _, err := io.WriteString(g.connection, g.method+" "+path+" HTTP/1.1\r\nHost: "+g.host+"\r\n"+length+"\r\n"+
		body); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(g.reader, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response, errors.Join(err, response.Body.Close())
}

func (g *gun) close() {
	if g.connection != nil {
		_ = g.connection.Close()
		g.connection = nil
	}
}

// address matches what differs from one reason to the next.
var address = regexp.MustCompile(`[0-9.]+:\d+`)

// failures are the methods and reasons of the failed requests for a crew in the access log, without addresses.
func (g *gate) failures(name string) []string {
	log, err := os.ReadFile(g.failed)
	if err != nil {
		g.t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(log)) {
		var request struct{ RequestHost, RequestMethod, ErrorReason string }
		if err := json.Unmarshal([]byte(line), &request); err != nil || request.RequestHost != name+".test" {
			continue // The last line may be on its way.
		}
		found = append(found, address.ReplaceAllString(request.RequestMethod+" "+request.ErrorReason, "ADDRESS"))
	}
	return found
}
