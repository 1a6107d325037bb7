package redis

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis/redistest"
)

// plenty is a rate that refuses no request.
func plenty() Rate { return Rate{Average: 1000, Period: time.Second, Burst: 100000} }

func TestKilledAndBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c, log := clients(t)
	l := limiter(t, c, at(server.Address), plenty())
	pass(t, l, "192.0.2.1")
	server.Kill()
	if got := fail(t, l, "192.0.2.1", ErrLost); !strings.Contains(got, "connection refused") &&
		!strings.Contains(got, "EOF") {
		t.Errorf("the reason is missing in %q", got)
	}
	if !l.Lost() {
		t.Error("Redis is not lost")
	}
	for range 100 {
		fail(t, l, "192.0.2.1", ErrLost)
	}
	server.Restart()
	back(t, l, log, "")
	pass(t, l, "192.0.2.1")
	if got := l.Counts(); got["redis_lost"] != 1 || got["redis_failed"] != 101 {
		t.Errorf("the counts are %v", got)
	}
}

// A server that was started again between requests has lost its scripts, and connections to it are dead.
func TestRestartedMeanwhile(t *testing.T) {
	server := redistest.Start(t)
	c, log := clients(t)
	l := limiter(t, c, at(server.Address), plenty())
	pass(t, l, "192.0.2.1")
	server.Kill()
	server.Restart()
	pass(t, l, "192.0.2.1")
	if got := log.all(); len(got) != 0 {
		t.Errorf("the log is %q", got)
	}
}

func TestAbsentFromTheBeginning(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	c, log := clients(t)
	l := limiter(t, c, at(server.Address), plenty())
	if l.Lost() {
		t.Error("Redis is lost before the first request")
	}
	fail(t, l, "192.0.2.1", ErrLost)
	server.Restart()
	back(t, l, log, "connection refused")
}

// A server that hangs costs the requests that meet it first their patience, and the others nothing.
func TestHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c, log := clients(t)
	c.AnswerTimeout = hurried
	l := limiter(t, c, at(server.Address), plenty())
	pass(t, l, "192.0.2.1")
	server.Stop()
	var group sync.WaitGroup
	for range 100 { // More than there are connections.
		group.Go(func() {
			began := time.Now()
			_, allowed, err := l.Take(t.Context(), "192.0.2.1")
			if took := time.Since(began); allowed || !errors.Is(err, ErrLost) && !errors.Is(err, ErrBusy) || took > prompt {
				t.Errorf("allowed %v, error %v after %v", allowed, err, took)
			}
		})
	}
	group.Wait()
	began := time.Now()
	for range 100 {
		fail(t, l, "192.0.2.1", ErrLost)
	}
	if took := time.Since(began); took > prompt {
		t.Errorf("100 requests without Redis take %v", took)
	}
	server.Continue()
	back(t, l, log, "no answer in time")
	pass(t, l, "192.0.2.1")
}

// A server that answers too late for requests stays lost, though the options would let a probe wait for it.
func TestSlowIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	through := newFront(t, server.Address)
	c, log := clients(t)
	c.AnswerTimeout = 100 * time.Millisecond
	through.delay.Store(int64(10 * c.AnswerTimeout)) // The machine may stand still for a part of it.
	l := limiter(t, c, at(through.address), plenty())
	fail(t, l, "192.0.2.1", ErrLost)
	seen := through.accepted.Load()
	eventually(t, "a second probe", func() bool { return through.accepted.Load() > seen+1 || !l.Lost() })
	if !l.Lost() {
		t.Error("a slow Redis is back")
	}
	through.delay.Store(0)
	back(t, l, log, "no answer in time")
}

// A server that answers after the default time limit, and within AnswerTimeout, is there for requests and for probes.
func TestSlowIsAwaited(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	through := newFront(t, server.Address)
	c, log := clients(t)
	l := limiter(t, c, at(through.address), plenty())
	through.delay.Store(int64(2 * answerTimeout))
	pass(t, l, "192.0.2.1")
	server.Kill()
	fail(t, l, "192.0.2.1", ErrLost)
	server.Restart()
	back(t, l, log, "")
	pass(t, l, "192.0.2.1")
}

// However many requests come, a Redis that is lost sees one connection at a time.
func TestNoStormOfConnections(t *testing.T) {
	t.Parallel()
	var accepted atomic.Int64
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It takes no time.
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			_ = connection.Close()
		}
	})
	defer serving.Wait()
	defer listener.Close() //nolint:errcheck // Nothing is lost.
	c, log := clients(t)
	c.ProbeInterval = 200 * time.Millisecond
	l := limiter(t, c, at(listener.Addr().String()), plenty())
	fail(t, l, "192.0.2.1", ErrLost)
	first, began := accepted.Load(), time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				if _, _, err := l.Take(ctx, "192.0.2.1"); err == nil {
					t.Error("nothing answers, and yet there is no error")
				}
			}
		})
	}
	eventually(t, "three probes", func() bool { return accepted.Load() >= first+3 })
	cancel()
	group.Wait()
	if got, most := accepted.Load()-first, int64(time.Since(began)/c.ProbeInterval)+1; got > most {
		t.Errorf("%d connections, want one in each of %d pauses at most", got, most)
	}
	if got := log.all(); len(got) != 1 {
		t.Errorf("the log is %q, want one line", got)
	}
}

// A request that finds all connections taken does not count as a failure of Redis.
func TestBusyIsNotLost(t *testing.T) {
	server := redistest.Start(t)
	through := newFront(t, server.Address)
	c, _ := clients(t)
	config := at(through.address)
	config.PoolSize, config.MaxActiveConns = 5, 1
	l := limiter(t, c, config, plenty())
	pass(t, l, "192.0.2.1")
	through.shut()
	var group sync.WaitGroup
	results := make(chan error, 2)
	for range 2 {
		group.Go(func() {
			_, _, err := l.Take(t.Context(), "192.0.2.1")
			results <- err
		})
	}
	if err := <-results; !errors.Is(err, ErrBusy) {
		t.Errorf("the error is %v, want %v", err, ErrBusy)
	}
	through.open()
	group.Wait()
	if err := <-results; err != nil {
		t.Errorf("the one with the connection gets %v", err)
	}
	if l.Lost() || l.Counts()["redis_failed"] != 1 {
		t.Errorf("lost %v, counts %v", l.Lost(), l.Counts())
	}
}

// A client that has no time says nothing about Redis.
func TestImpatientClientIsNotALoss(t *testing.T) {
	server := redistest.Start(t)
	through := newFront(t, server.Address)
	c, _ := clients(t)
	l := limiter(t, c, at(through.address), plenty())
	pass(t, l, "192.0.2.1")
	through.shut()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := l.Take(short, "192.0.2.1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	through.open()
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := l.Take(gone, "192.0.2.1"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if l.Lost() {
		t.Error("Redis is lost")
	}
	pass(t, l, "192.0.2.1")
}

// What Redis refuses makes it lost until it does it again, and the log says why.
func TestRefusals(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := direct(t, redis.Options{Addr: server.Address})
	const key = "sluice:ratelimit:1:limit@file:1000/1s/100000:192.0.2.9"
	for reason, one := range map[string]struct{ before, after []any }{
		"READONLY":        {[]any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}},
		"OOM":             {[]any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}},
		"NOPERM":          {[]any{"ACL", "SETUSER", "default", "-evalsha"}, []any{"ACL", "SETUSER", "default", "+evalsha"}},
		"WRONGTYPE":       {[]any{"SADD", key, "x"}, []any{"DEL", key}},
		"holds no bucket": {[]any{"SET", key, "x"}, []any{"DEL", key}},
	} {
		t.Run(reason, func(t *testing.T) {
			c, log := clients(t)
			l := limiter(t, c, at(server.Address), plenty())
			pass(t, l, "192.0.2.1")
			do(t, admin, "DEL", key)
			do(t, admin, one.before...)
			fail(t, l, "192.0.2.9", ErrLost)
			ticker := time.NewTicker(3 * c.ProbeInterval) // Time enough for a probe that is content with too little.
			defer ticker.Stop()
			<-ticker.C
			fail(t, l, "192.0.2.1", ErrLost)
			do(t, admin, one.after...)
			back(t, l, log, reason)
			pass(t, l, "192.0.2.9")
		})
	}
}

// Close does not wait for a server that hangs, and no request waits after it.
func TestCloseWhileAsking(t *testing.T) {
	server := redistest.Start(t)
	for name, end := range map[string]func(c *Clients, l *Limiter){
		"limiter": func(_ *Clients, l *Limiter) { l.Close() },
		"clients": func(c *Clients, _ *Limiter) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c, log := clients(t)
			config := at(server.Address)
			config.PoolSize = 10
			l := limiter(t, c, config, plenty())
			pass(t, l, "192.0.2.1")
			server.Stop()
			defer server.Continue()
			results := make(chan error, 10)
			for range cap(results) {
				go func() {
					_, _, err := l.Take(t.Context(), "192.0.2.1")
					results <- err
				}()
			}
			eventually(t, "requests under way", func() bool {
				s := l.client.current.Load()
				return s != nil && s.PoolStats().TotalConns >= 10
			})
			end(c, l)
			for range cap(results) {
				if err := <-results; !errors.Is(err, ErrClosed) {
					t.Errorf("the error is %v, want %v", err, ErrClosed)
				}
			}
			fail(t, l, "192.0.2.1", ErrClosed)
			if got := log.all(); len(got) != 0 {
				t.Errorf("the log is %q", got)
			}
		})
	}
}

// Close ends the background checks while Redis is lost, too.
func TestCloseWhileLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c, _ := clients(t)
	c.AnswerTimeout, c.ProbeInterval = hurried, time.Millisecond
	l := limiter(t, c, at(server.Address), plenty())
	pass(t, l, "192.0.2.1")
	server.Stop()
	fail(t, l, "192.0.2.1", ErrLost)
	began := time.Now()
	c.Close()
	if took := time.Since(began); took > prompt {
		t.Errorf("closing takes %v", took)
	}
	fail(t, l, "192.0.2.1", ErrClosed)
	if _, err := c.Limiter("late@file", at(server.Address), plenty(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a limiter of closed clients: %v", err)
	}
}
