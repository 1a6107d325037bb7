package acme_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

func TestMain(m *testing.M) {
	// Pebble's validation authority never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(acmetest.Leak))
}

// replicas have Resolvers that share a storage, behind one address to which the authority sends its validations.
type replicas struct {
	t        *testing.T
	storage  storage.Store
	options  acme.Options
	leading  *replica
	http     *httptest.Server
	tls      net.Listener
	mutex    sync.Mutex
	managers []*replica
	picked   int
	// validated counts the validations by replica.
	validated map[*replica]int
}

// replica is one of them.
type replica struct {
	*acme.Resolvers
	cancel context.CancelFunc
	done   chan struct{}
	mutex  sync.Mutex
	// certificates are the certificates that each resolver has sent last.
	certificates map[string][]*dynamic.CertificateEntry
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{t: t, storage: storagetest.NewMemory(), validated: map[*replica]int{}}
	r.seed()
	r.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if one := r.pick(); one != nil {
			one.ServeHTTP(w, request)
		}
	}))
	t.Cleanup(r.http.Close)
	var err error
	if r.tls, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var handshakes sync.WaitGroup
	handshakes.Go(func() {
		for {
			connection, err := r.tls.Accept()
			if err != nil {
				return
			}
			if one := r.pick(); one != nil {
				_ = tls.Server(connection, one.ChallengeConfig()).HandshakeContext(t.Context())
			}
			_ = connection.Close()
		}
	})
	t.Cleanup(func() { _ = r.tls.Close(); handshakes.Wait() })
	return r
}

// seed stores the key of an account that is not registered, because RSA keys take long to make.
func (r *replicas) seed() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		r.t.Fatal(err)
	}
	value, _ := json.Marshal(storage.Account{
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})),
	})
	if err := r.storage.Put(r.t.Context(), storage.Key{Kind: storage.KindAccount, Resolver: "le"}, value); err != nil {
		r.t.Fatal(err)
	}
}

// ports returns the ports for HTTP-01 and TLS-ALPN-01.
func (r *replicas) ports() (http, tls int) {
	return r.http.Listener.Addr().(*net.TCPAddr).Port, r.tls.Addr().(*net.TCPAddr).Port
}

// newAuthority returns an authority that validates at the replicas, whose resolvers use it.
func newAuthority(t *testing.T, r *replicas, options acmetest.Options) *acmetest.Authority {
	t.Helper()
	options.HTTPPort, options.TLSPort = r.ports()
	authority := acmetest.New(t, options)
	r.options.Transport = authority.Client().Transport
	return authority
}

// pick returns the replicas in turn.
func (r *replicas) pick() *replica {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.managers) == 0 {
		return nil
	}
	r.picked++
	one := r.managers[r.picked%len(r.managers)]
	r.validated[one]++
	return one
}

// start starts a replica.
func (r *replicas) start(resolvers map[string]*static.ACME) *replica {
	r.t.Helper()
	options := r.options
	options.Resolvers = resolvers
	if options.Logger == nil {
		options.Logger = testLogger{r.t}
	}
	if options.Metrics == nil {
		options.Metrics = noMetrics{}
	}
	one := &replica{done: make(chan struct{}), certificates: map[string][]*dynamic.CertificateEntry{}}
	options.Open = func(string) (storage.Store, error) { return observedLead{r.storage, r, one}, nil }
	one.Resolvers = acme.New(options)
	ctx, cancel := context.WithCancel(context.Background())
	one.cancel = cancel
	messages := make(chan dynamic.Message)
	ready := make(chan struct{})
	close(ready)
	var tasks sync.WaitGroup
	tasks.Go(func() { one.Run(ctx) })
	tasks.Go(func() { one.Lead(ctx, ready) })
	for name := range resolvers {
		if provider := one.Provider(name); provider != nil {
			tasks.Go(func() { _ = provider.Provide(ctx, messages) })
		}
	}
	tasks.Go(func() {
		for {
			select {
			case message := <-messages:
				one.mutex.Lock()
				one.certificates[message.Provider] = message.Configuration.TLS.Certificates
				one.mutex.Unlock()
			case <-ctx.Done():
				return
			}
		}
	})
	go func() { tasks.Wait(); close(one.done) }()
	r.mutex.Lock()
	r.managers = append(r.managers, one)
	r.mutex.Unlock()
	r.t.Cleanup(func() { r.stop(one) })
	return one
}

// observedLead notes which replica leads.
type observedLead struct {
	storage.Store
	group *replicas
	one   *replica
}

// Lead implements storage.Elector.
func (o observedLead) Lead(ctx context.Context, lead func(context.Context)) error {
	return o.Store.Lead(ctx, func(term context.Context) {
		o.group.mutex.Lock()
		o.group.leading = o.one
		o.group.mutex.Unlock()
		lead(term)
	})
}

// leader returns the replica that leads.
func (r *replicas) leader() *replica {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.leading
}

// running returns the replicas that run.
func (r *replicas) running() []*replica {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.managers)
}

// memory returns the storage.
func (r *replicas) memory() *storagetest.Memory { return r.storage.(*storagetest.Memory) }

// amend changes the stored schedules while nothing runs.
func (r *replicas) amend(t *testing.T, change func(schedule map[string]any)) {
	t.Helper()
	for _, key := range r.memory().Keys(storage.KindSchedule) {
		value, err := r.memory().Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		var schedule map[string]any
		if err := json.Unmarshal(value, &schedule); err != nil {
			t.Fatal(err)
		}
		change(schedule)
		value, _ = json.Marshal(schedule)
		if err := r.memory().Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
}

// expireRechecks makes the renewal information of all certificates due.
func (r *replicas) expireRechecks(t *testing.T) {
	t.Helper()
	r.amend(t, func(schedule map[string]any) { delete(schedule, "recheck") })
}

// expireAttempts makes the next attempt of all orders due.
func (r *replicas) expireAttempts(t *testing.T) {
	t.Helper()
	r.amend(t, func(schedule map[string]any) { delete(schedule, "next") })
}

// topIssuer returns the issuer of the last certificate of the only chain of a resolver.
func (r *replica) topIssuer(resolver string) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var issuer string
	text := []byte(r.certificates[resolver+acme.ProviderSuffix][0].CertFile)
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if parsed, err := x509.ParseCertificate(block.Bytes); err == nil {
			issuer = parsed.Issuer.CommonName
		}
	}
	return issuer
}

// stop ends a replica.
func (r *replicas) stop(one *replica) {
	r.mutex.Lock()
	r.managers = slices.DeleteFunc(r.managers, func(other *replica) bool { return other == one })
	r.mutex.Unlock()
	one.cancel()
	<-one.done
}

// leaf returns the certificate for a name that a resolver has sent, or nil.
func (r *replica) leaf(resolver, name string) *x509.Certificate {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, entry := range r.certificates[resolver+acme.ProviderSuffix] {
		pair, err := tls.X509KeyPair([]byte(entry.CertFile), []byte(entry.KeyFile))
		if err == nil && pair.Leaf.VerifyHostname(name) == nil {
			return pair.Leaf
		}
	}
	return nil
}

// await waits for the certificate for a name.
func (r *replica) await(t *testing.T, resolver, name string) *x509.Certificate {
	t.Helper()
	var leaf *x509.Certificate
	eventually(t, func() bool { leaf = r.leaf(resolver, name); return leaf != nil }, func() string {
		status, _ := json.Marshal(r.Status())
		return "no certificate for " + name + ": " + string(status)
	})
	return leaf
}

// awaitSchedule waits until the storage has a schedule with the suggestion of the authority, which is stored a little
// later than the certificate.
func awaitSchedule(t *testing.T, from storage.Store) {
	t.Helper()
	eventually(t, func() bool {
		values, err := storage.Snapshot(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range values {
			if key.Kind == storage.KindSchedule && bytes.Contains(value, []byte(`"recheck"`)) {
				return true
			}
		}
		return false
	}, func() string { return "no suggestion is stored" })
}

// eventually waits for a condition.
func eventually(t *testing.T, condition func() bool, message func() string) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); <-ticker.C {
		if condition() {
			return
		}
	}
	t.Fatal(message())
}

// want is the demand of one router.
func want(resolver string, names ...string) []certificate.Demand {
	return []certificate.Demand{{Router: "router@file", Resolver: resolver, Names: [][]string{names}}}
}

// uncovered says that no other source has a certificate.
func uncovered(string) bool { return false }

type noMetrics struct{}

func (noMetrics) Ordered(string, string) {}

// testLogger writes to the test's output.
type testLogger struct{ t *testing.T }

func (l testLogger) Debug(m string, kv ...any) { l.write("debug", m, kv) }
func (l testLogger) Info(m string, kv ...any)  { l.write("info", m, kv) }
func (l testLogger) Warn(m string, kv ...any)  { l.write("warn", m, kv) }
func (l testLogger) Error(m string, kv ...any) { l.write("error", m, kv) }

func (l testLogger) write(level, message string, keysAndValues []any) {
	_, _ = fmt.Fprintln(l.t.Output(), level, message, keysAndValues)
}
