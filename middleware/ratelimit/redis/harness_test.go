package redis

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	ptypes "github.com/traefik/paerser/types"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines keeps what is logged from level info on.
type lines struct {
	telemetry.Discard

	mu   sync.Mutex
	kept []string
}

func (l *lines) keep(message string, keysAndValues []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, message+" "+fmt.Sprint(keysAndValues...))
}

// Info keeps a line.
func (l *lines) Info(message string, keysAndValues ...any) { l.keep(message, keysAndValues) }

// Warn keeps a line.
func (l *lines) Warn(message string, keysAndValues ...any) { l.keep(message, keysAndValues) }

// Error keeps a line.
func (l *lines) Error(message string, keysAndValues ...any) { l.keep(message, keysAndValues) }

// all returns what was logged so far.
func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.kept...)
}

const (
	// unhurried is the time limit of an answer where a test is not about that limit.
	unhurried = time.Minute
	// hurried is the time limit of an answer where a test is about it. A busy machine answers within it.
	hurried = 2 * time.Second
	// prompt bounds what must not take as long as unhurried, or as a probe may.
	prompt = 10 * time.Second
	// briefly is the pause between two probes.
	briefly = 20 * time.Millisecond
)

// clients returns clients that end with the test, and what they log.
func clients(t testing.TB) (*Clients, *lines) {
	t.Helper()
	log := new(lines)
	c := NewClients(log)
	c.AnswerTimeout, c.ProbeInterval = unhurried, briefly
	t.Cleanup(c.Close)
	return c, log
}

// at returns options with one endpoint, and time limits that no test waits for.
func at(address string) *dynamic.Redis {
	limit := ptypes.Duration(unhurried)
	return &dynamic.Redis{Endpoints: []string{address}, ReadTimeout: &limit, WriteTimeout: &limit, DialTimeout: &limit}
}

// limiter returns a limiter that ends with the test.
func limiter(t testing.TB, c *Clients, config *dynamic.Redis, rate Rate) *Limiter {
	t.Helper()
	l, err := c.Limiter("limit@file", config, rate, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Start()
	t.Cleanup(l.Close)
	return l
}

// direct returns a client to prepare and inspect a server.
func direct(t testing.TB, options redis.Options) *redis.Client {
	t.Helper()
	options.MaxRetries, options.DisableIdentity = -1, true
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// do runs one command.
func do(t testing.TB, client *redis.Client, arguments ...any) any {
	t.Helper()
	answer, err := client.Do(t.Context(), arguments...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("%v: %v", arguments, err)
	}
	return answer
}

// pass demands that a request passes at once.
func pass(t *testing.T, l *Limiter, key string) {
	t.Helper()
	if delay, allowed, err := l.Take(t.Context(), key); err != nil || !allowed || delay != 0 {
		t.Errorf("%s: delay %v, allowed %v, error %v", key, delay, allowed, err)
	}
}

// fail demands an error that does not take as long as an answer may, and returns its text.
func fail(t *testing.T, l *Limiter, key string, wanted error) string {
	t.Helper()
	began := time.Now()
	_, allowed, err := l.Take(t.Context(), key)
	if took := time.Since(began); allowed || !errors.Is(err, wanted) || took > prompt {
		t.Errorf("%s: allowed %v, error %v after %v, want %v within %v", key, allowed, err, took, wanted, prompt)
	}
	return fmt.Sprint(err)
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-limit.C:
			t.Fatalf("%s does not come true", what)
		}
	}
}

// back waits until Redis is back, and checks what was logged meanwhile: one line for each change.
func back(t *testing.T, l *Limiter, log *lines, reason string) {
	t.Helper()
	eventually(t, "Redis is back", func() bool { return !l.Lost() && len(log.all()) > 1 })
	got := log.all()
	if len(got) != 2 || !strings.HasPrefix(got[0], "Redis is lost") || !strings.Contains(got[0], reason) ||
		!strings.HasPrefix(got[1], "Redis is back") {
		t.Errorf("the log is %q, want a loss (%s) and a return", got, reason)
	}
}

// front passes connections on to a server, and can hold back or delay what the server answers.
type front struct {
	address  string
	accepted atomic.Int64
	delay    atomic.Int64 // Nanoseconds before each answer.

	mu   sync.Mutex
	gate chan struct{} // Closed while answers pass.
}

func newFront(t testing.TB, server string) *front {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It takes no time.
	if err != nil {
		t.Fatal(err)
	}
	f := &front{address: listener.Addr().String(), gate: make(chan struct{})}
	close(f.gate)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			f.accepted.Add(1)
			group.Go(func() { f.serve(client, server) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		f.open()
		group.Wait()
	})
	return f
}

func (f *front) serve(client net.Conn, address string) {
	defer client.Close()                    //nolint:errcheck // Nothing is lost.
	server, err := net.Dial("tcp", address) //nolint:noctx // It takes no time.
	if err != nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = copyUntil(server, client, func() {})
		_ = server.Close()
	}()
	_ = copyUntil(client, server, f.wait)
	_ = client.Close()
	_ = server.Close()
	<-ended
}

// copyUntil copies, and calls before each write.
func copyUntil(to, from net.Conn, before func()) error {
	part := make([]byte, 4096)
	for {
		n, err := from.Read(part)
		if err != nil {
			return err
		}
		before()
		if _, err := to.Write(part[:n]); err != nil {
			return err
		}
	}
}

func (f *front) wait() {
	f.mu.Lock()
	gate := f.gate
	f.mu.Unlock()
	<-gate
	<-time.NewTimer(time.Duration(f.delay.Load())).C
}

// shut holds answers back until open.
func (f *front) shut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gate = make(chan struct{})
}

func (f *front) open() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.gate:
	default:
		close(f.gate)
	}
}
