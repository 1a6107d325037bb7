package churn

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// clients is the number of concurrent clients, each of which sends requests every turn.
	clients = 12
	turn    = 4 * time.Millisecond
	// keys is how many keys there are to be hashed.
	keys = 1000
)

// client is one connection to the entrypoint.
type client struct {
	net.Conn

	reader *bufio.Reader
}

func dial(t testing.TB, address string) *client {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return &client{connection, bufio.NewReader(connection)}
}

// ask sends a numbered request, and returns the endpoint. Every twentieth takes 20 ms.
func (c *client) ask(service string, number int) (string, error) {
	query := ""
	if number%20 == 0 {
		query = "?wait"
	}
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(c, "GET /%s HTTP/1.1\r\nHost: %s.test\r\nX-Key: %d\r\n\r\n", query, service,
		number%keys); err != nil {
		return "", err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	return response.Header.Get("X-Pod"), err
}

// traffic is clients that send requests to all services in turn.
type traffic struct {
	t            testing.TB
	sent, failed atomic.Int64
	took         time.Duration
}

// press sends requests until the function that it returns is called.
func press(t testing.TB, s *stack) (*traffic, func()) {
	t.Helper()
	all := &traffic{t: t}
	done := make(chan struct{})
	var busy sync.WaitGroup
	for number := range clients {
		one := dial(t, s.address)
		busy.Go(func() { all.run(one, number, done) })
	}
	stop := sync.OnceFunc(func() { close(done); busy.Wait() })
	t.Cleanup(stop)
	return all, stop
}

func (a *traffic) run(one *client, number int, done <-chan struct{}) {
	defer func() { _ = one.Close() }()
	names := slices.Sorted(maps.Keys(services()))
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for i := number * 1009; ; i++ {
		service := names[i%len(names)]
		a.sent.Add(1)
		if _, err := one.ask(service, i); err != nil {
			if a.failed.Add(1) <= 5 {
				a.t.Errorf("%s: a request fails: %v", service, err)
			}
			if _, answered := err.(net.Error); answered { //nolint:errorlint // What a connection returns is not wrapped.
				return
			}
		}
		select {
		case <-done:
			return
		case <-ticker.C:
		}
	}
}

// visit sends requests to every service until round robin has reached exactly count endpoints. Each then has one
// connection.
func visit(t testing.TB, s *stack, count int) {
	t.Helper()
	one := dial(t, s.address)
	defer func() { _ = one.Close() }()
	for _, service := range slices.Sorted(maps.Keys(services())) {
		var err error
		until(t, "an answer of "+service, func() bool {
			_, err = one.ask(service, 1)
			return err == nil
		}, func() any { return err })
		for i := range count {
			if _, err := one.ask(service, i+1); err != nil {
				t.Fatalf("%s: %v", service, err)
			}
		}
	}
	met := map[string]bool{}
	until(t, "answers from every endpoint", func() bool {
		clear(met)
		for range count {
			name, err := one.ask("wrr", 1)
			if err != nil {
				t.Fatal(err)
			}
			met[name] = true
		}
		return len(met) == count
	}, func() any { return len(met) })
}
