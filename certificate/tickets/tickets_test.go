package tickets_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/certificate/tickets"
	"github.com/sluiceproxy/sluice/dynamic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replica is a process that shares the secret in a storage.
type replica struct {
	tickets *certificate.Tickets
	log     *lines
	stop    func()
}

func start(t *testing.T, store storage.Store) *replica {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &replica{tickets: certificate.NewTickets(), log: new(lines)}
	sharing := tickets.New(store, r.tickets, r.log)
	var running sync.WaitGroup
	running.Go(func() { sharing.Run(ctx) })
	r.stop = func() { cancel(); running.Wait() }
	t.Cleanup(r.stop)
	synctest.Wait()
	return r
}

func (r *replica) options(t *testing.T, options *dynamic.TLSOptions) *certificate.Options {
	t.Helper()
	set, _ := certificate.NewSet(nil, nil)
	made, err := certificate.NewOptions("test@file", options, func() *certificate.Set { return set }, nil, r.tickets)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// client keeps its session from one handshake to the next.
func client(version uint16) *tls.Config {
	return &tls.Config{ //nolint:gosec // The tests look at the resumption only.
		ServerName: "a.example.com", InsecureSkipVerify: true, MaxVersion: version,
		ClientSessionCache: tls.NewLRUClientSessionCache(1),
	}
}

// resumed reports whether a handshake with a replica resumes the client's session.
func resumed(t *testing.T, options *certificate.Options, client *tls.Config) bool {
	t.Helper()
	near, far := net.Pipe()
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() {
		server := tls.Server(far, options.Config())
		if server.HandshakeContext(t.Context()) == nil {
			_, _ = server.Write([]byte{1})
		}
		_ = far.Close()
	})
	defer func() { _ = near.Close() }()
	conn := tls.Client(near, client)
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return conn.ConnectionState().DidResume
}

// TestReplicasResumeSessionsOfEachOther covers a rollout too, in which all replicas are replaced.
func TestReplicasResumeSessionsOfEachOther(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		synctest.Test(t, func(t *testing.T) {
			store, plain := storagetest.NewMemory(), &dynamic.TLSOptions{}
			one, two := start(t, store), start(t, store)
			c := client(version)
			if resumed(t, one.options(t, plain), c) {
				t.Fatal("the first handshake resumed a session")
			}
			if !resumed(t, two.options(t, plain), c) {
				t.Errorf("%s: another replica does not resume the session", tls.VersionName(version))
			}
			one.stop()
			two.stop()
			three := start(t, store)
			if !resumed(t, three.options(t, plain), c) {
				t.Errorf("%s: no session is resumed after a rollout", tls.VersionName(version))
			}
			if resumed(t, three.options(t, &dynamic.TLSOptions{DisableSessionTickets: true}), c) {
				t.Error("a session is resumed without tickets")
			}
		})
	}
}

func TestSessionsStayBoundToTheirOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storagetest.NewMemory()
		one, two := start(t, store), start(t, store)
		for _, other := range []*dynamic.TLSOptions{
			{MaxVersion: "VersionTLS13"},
			{ClientAuth: dynamic.ClientAuth{ClientAuthType: "RequestClientCert"}},
		} {
			c := client(0)
			resumed(t, one.options(t, &dynamic.TLSOptions{}), c)
			if resumed(t, two.options(t, other), c) {
				t.Errorf("a session is resumed under the options %+v", other)
			}
		}
		c := client(0)
		resumed(t, one.options(t, &dynamic.TLSOptions{}).On("inner"), c)
		if resumed(t, two.options(t, &dynamic.TLSOptions{}).On("outer"), c) {
			t.Error("a session is resumed on another entrypoint")
		}
	})
}

// TestSecretRotates demands that no client needs a full handshake because of a rotation, and that old sessions end.
func TestSecretRotates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storagetest.NewMemory()
		one, two := start(t, store), start(t, slow{store})
		first, second := one.options(t, &dynamic.TLSOptions{}), two.options(t, &dynamic.TLSOptions{})
		old := client(0)
		resumed(t, first, old)
		kept, secrets := old.ClientSessionCache, map[string]bool{}
		for i := range 7 * 24 * 60 {
			pass(time.Minute)
			secrets[secretOf(t, store)] = true
			c := client(0)
			if around := (i + 10) % (24 * 60); around > 30 && i%60 != 0 {
				continue // Handshakes at each minute around changes of keys alone.
			}
			resumed(t, first, c)
			if !resumed(t, second, c) {
				t.Fatalf("a full handshake after %d minutes", i)
			}
			if i == 23*60 {
				c := client(0)
				c.ClientSessionCache = &frozen{kept}
				if !resumed(t, second, c) {
					t.Error("a session of yesterday is not resumed")
				}
			}
		}
		if n := len(secrets); n < 7 || n > 8 {
			t.Errorf("%d secrets in a week", n)
		}
		c := client(0)
		c.ClientSessionCache = &frozen{kept}
		if resumed(t, second, c) {
			t.Error("a session of last week is resumed")
		}
	})
}

// TestClocksMayDiffer has sessions resumed by a replica whose clock is behind or ahead.
func TestClocksMayDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secret := certificate.TicketSecret{Current: [32]byte{1}, Began: time.Now()}
		behind := &replica{tickets: certificate.NewTickets()}
		behind.tickets.Share(secret)
		late := behind.options(t, &dynamic.TLSOptions{}) // It keeps the keys of the time at which they were made.
		pass(12 * time.Hour)
		ahead := &replica{tickets: certificate.NewTickets()}
		ahead.tickets.Share(secret)
		early := ahead.options(t, &dynamic.TLSOptions{})
		c := client(0)
		resumed(t, early, c)
		if !resumed(t, late, c) {
			t.Error("a session of a replica whose clock is ahead is not resumed")
		}
	})
}

// TestProcessSecretServesMeanwhile lets the storage come back later.
func TestProcessSecretServesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storagetest.NewMemory()
		broken := &unreadable{Memory: store, until: time.Now().Add(time.Hour)}
		one, two := start(t, broken), start(t, broken)
		first, second := one.options(t, &dynamic.TLSOptions{}), two.options(t, &dynamic.TLSOptions{})
		c := client(0)
		resumed(t, first, c)
		if !resumed(t, first, c) || resumed(t, second, c) {
			t.Error("without the storage there is no secret of the process")
		}
		before := client(0)
		resumed(t, first, before)
		pass(2 * time.Hour)
		if !resumed(t, first, before) {
			t.Error("the shared secret ends the sessions of the process")
		}
		if !resumed(t, second, before) {
			t.Error("the shared secret has not replaced that of the process")
		}
		if text := one.log.String(); !strings.Contains(text, "cannot be read") {
			t.Errorf("the log does not say why: %s", text)
		}
	})
}

func TestDamagedSecretIsReplacedAndNeverShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storagetest.NewMemory()
		one := start(t, store)
		for _, damaged := range []string{`"planted"`, `{"current":"cGxhbnRlZA==","began":"2026-01-01T00:00:00Z"}`} {
			if err := store.Put(t.Context(), storage.Key{Kind: storage.KindTickets}, []byte(damaged)); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
			if secretOf(t, store) == "" {
				t.Errorf("%s was not replaced", damaged)
			}
		}
		if err := store.Delete(t.Context(), storage.Key{Kind: storage.KindTickets}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		secret := secretOf(t, store)
		text := one.log.String()
		if secret == "" || strings.Contains(text, "lanted") || strings.Contains(text, "cGxhbnRlZA") ||
			strings.Contains(text, secret) {
			t.Errorf("secret %q, log %s", secret, text)
		}
		shown := certificate.TicketSecret{Current: [32]byte{123, 124}}
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(format, shown); strings.Contains(text, "123") || strings.Contains(text, "0x7b") {
				t.Errorf("%s shows %s", format, text)
			}
		}
	})
}

func TestWritesAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storagetest.NewMemory()
		store.Refuse(errors.New("disk full"))
		one := start(t, store)
		pass(time.Hour)
		store.Refuse(nil)
		pass(2 * time.Minute)
		if secretOf(t, store) == "" {
			t.Error("the secret was not written")
		}
		if n := strings.Count(one.log.String(), "disk full"); n < 3 || n > 80 {
			t.Errorf("%d lines about it", n)
		}
	})
}

// secretOf returns the stored secret, or "".
func secretOf(t *testing.T, store storage.Reader) string {
	t.Helper()
	value, err := store.Get(t.Context(), storage.Key{Kind: storage.KindTickets})
	if err != nil {
		return ""
	}
	var stored struct{ Current, Previous []byte }
	if json.Unmarshal(value, &stored) != nil || len(stored.Current) != 32 {
		return ""
	}
	return string(stored.Current)
}

// slow is a storage whose changes are seen a few seconds later.
type slow struct{ *storagetest.Memory }

func (s slow) Watch(ctx context.Context, receive func([]storage.Change)) error {
	return s.Memory.Watch(ctx, func(changes []storage.Change) {
		pass(5 * time.Second)
		receive(changes)
	})
}

// unreadable is a storage that cannot be used for a time.
type unreadable struct {
	*storagetest.Memory
	until time.Time
}

func (u *unreadable) Watch(ctx context.Context, receive func([]storage.Change)) error {
	if time.Now().Before(u.until) {
		return errors.New("no route to host")
	}
	return u.Memory.Watch(ctx, receive)
}

func (u *unreadable) Get(ctx context.Context, key storage.Key) ([]byte, error) {
	if time.Now().Before(u.until) {
		return nil, errors.New("no route to host")
	}
	return u.Memory.Get(ctx, key)
}

// frozen is a cache that stores nothing more.
type frozen struct{ tls.ClientSessionCache }

func (*frozen) Put(string, *tls.ClientSessionState) {}

// lines is a logger that keeps what it gets.
type lines struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *lines) add(message string, more ...any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text.WriteString(message + fmt.Sprintln(more...))
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

func (l *lines) Debug(message string, more ...any) { l.add(message, more...) }
func (l *lines) Info(message string, more ...any)  { l.add(message, more...) }
func (l *lines) Warn(message string, more ...any)  { l.add(message, more...) }
func (l *lines) Error(message string, more ...any) { l.add(message, more...) }

// pass lets time go by in a bubble of testing/synctest.
func pass(d time.Duration) { <-time.NewTimer(d).C }
