package lease_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/storage/lease"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server has one lock that expires, of several holders.
type server struct {
	mu     sync.Mutex
	holder *lock
	until  time.Time
}

// lock is the lock as one process sees it.
type lock struct {
	server *server
	// down has every request hang until it times out.
	down     bool
	released int
}

var errDown = errors.New("down")

func (l *lock) take(ctx context.Context, held func() bool) (bool, error) {
	l.server.mu.Lock()
	down := l.down
	l.server.mu.Unlock()
	if down {
		<-ctx.Done()
		return false, errDown
	}
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if time.Now().After(l.server.until) {
		l.server.holder = nil
	}
	if !held() {
		return false, nil
	}
	l.server.holder, l.server.until = l, time.Now().Add(lease.Duration)
	return true, nil
}

// Acquire takes the lock if no other has it.
func (l *lock) Acquire(ctx context.Context) (bool, error) {
	return l.take(ctx, func() bool { return l.server.holder == nil || l.server.holder == l })
}

// Renew prolongs it.
func (l *lock) Renew(ctx context.Context) (bool, error) {
	return l.take(ctx, func() bool { return l.server.holder == l })
}

// Release gives it up.
func (l *lock) Release(ctx context.Context) error {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if l.down {
		return ctx.Err()
	}
	l.released++
	if l.server.holder == l {
		l.server.holder = nil
	}
	return nil
}

// disconnect has requests hang from now on.
func (l *lock) disconnect() {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	l.down = true
}

func (l *lock) steal(by *lock) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	l.server.holder, l.server.until = by, time.Now().Add(time.Hour)
}

func TestLeaderEndsBeforeItsLockExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &server{}
		first, second := &lock{server: s}, &lock{server: s}
		var jobs sync.WaitGroup
		began := make(chan struct{})
		var ended, next time.Time
		jobs.Go(func() {
			_ = lease.Lead(ctx, first, telemetry.Discard{}, func(leading context.Context) {
				close(began)
				<-leading.Done()
				ended = time.Now()
			})
		})
		<-began
		jobs.Go(func() {
			_ = lease.Lead(ctx, second, telemetry.Discard{}, func(leading context.Context) {
				next = time.Now()
				<-leading.Done()
			})
		})
		pass(time.Minute)
		first.disconnect()
		lost := time.Now()
		pass(time.Minute)
		cancel()
		jobs.Wait()
		if ended.IsZero() || next.Before(ended) || next.Sub(lost) > 15*time.Second {
			t.Errorf("the first leader ended after %v, and the second began after %v", ended.Sub(lost), next.Sub(lost))
		}
		if second.released != 1 || s.holder != nil {
			t.Errorf("the second leader has released its lock %d times", second.released)
		}
	})
}

func TestStolenLockEndsTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := &lock{server: &server{}}
		_ = lease.Lead(ctx, l, telemetry.Discard{}, func(leading context.Context) {
			began := time.Now()
			l.steal(&lock{server: l.server})
			<-leading.Done()
			if d := time.Since(began); d > 3*time.Second {
				t.Errorf("it took %v", d)
			}
			cancel()
		})
	})
}

func TestLeaderThatReturnsIsCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		terms := 0
		_ = lease.Lead(ctx, &lock{server: &server{}}, telemetry.Discard{}, func(context.Context) {
			if terms++; terms == 3 {
				cancel()
			}
		})
		if terms != 3 {
			t.Errorf("%d terms", terms)
		}
	})
}

// logged counts warnings.
type logged struct {
	telemetry.Discard

	warns, infos int
}

func (l *logged) Warn(string, ...any) { l.warns++ }
func (l *logged) Info(string, ...any) { l.infos++ }

func TestFailuresAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		logger := &logged{}
		l := &lock{server: &server{}, down: true}
		time.AfterFunc(time.Minute, func() {
			l.server.mu.Lock()
			defer l.server.mu.Unlock()
			l.down = false
		})
		_ = lease.Lead(ctx, l, logger, func(context.Context) { cancel() })
		if logger.warns != 1 || logger.infos != 1 {
			t.Errorf("%d warnings, %d lines of information", logger.warns, logger.infos)
		}
	})
}

// pass lets time go by.
func pass(d time.Duration) { <-time.NewTimer(d).C }
