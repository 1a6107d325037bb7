package acme_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/letsencrypt/challtestsrv"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

func TestMain(m *testing.M) {
	// Pebble's validation authority never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/letsencrypt/pebble/v2/va.VAImpl.processTasks"))
}

// authority is a certificate authority: Pebble, behind a handler that counts and can fail.
type authority struct {
	*httptest.Server
	t   *testing.T
	dns *challtestsrv.ChallSrv
	wfe *wfe.WebFrontEndImpl
	db  *db.MemoryStore

	mutex sync.Mutex
	// orders are the names of the orders that were accepted.
	orders []string
	// requests counts the requests by their path.
	requests map[string]int
	// replaced are the certificates that orders replace.
	replaced []string
	// intercept answers a request in place of Pebble if it returns true.
	intercept func(w http.ResponseWriter, r *http.Request) bool
}

// authorityOptions say how an authority is made.
type authorityOptions struct {
	alternateRoots int
	profiles       map[string]ca.Profile
	requireEAB     bool
	rejectedNonces int
	alwaysValid    bool
}

func newAuthority(t *testing.T, r *replicas, options authorityOptions) *authority {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_AUTHZREUSE", "0")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", strconv.Itoa(options.rejectedNonces))
	t.Setenv("PEBBLE_VA_ALWAYS_VALID", strconv.FormatBool(options.alwaysValid))
	a := &authority{t: t, db: db.NewMemoryStore(), requests: map[string]int{}}
	dns, address := newDNS(t)
	a.dns = dns
	if options.profiles == nil {
		options.profiles = map[string]ca.Profile{"default": {ValidityPeriod: 90 * 24 * 3600}}
	}
	logger := stdlog.New(io.Discard, "", 0)
	authority := ca.New(logger, a.db, "", "ecdsa", options.alternateRoots, 1, options.profiles)
	httpPort, tlsPort := r.ports()
	validation := va.New(logger, httpPort, tlsPort, false, address, a.db)
	front := wfe.New(logger, a.db, validation, authority, nil, false, options.requireEAB, 0, 0)
	a.wfe = &front
	handler := front.Handler()
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mutex.Lock()
		a.requests[r.URL.Path]++
		intercept := a.intercept
		a.mutex.Unlock()
		if intercept != nil && intercept(w, r) {
			return
		}
		a.serve(handler, w, r)
	}))
	t.Cleanup(a.Close)
	r.options.Transport = a.Client().Transport
	return a
}

// serve lets Pebble answer, and notes the orders that it accepts.
func (a *authority) serve(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/order-plz") {
		handler.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r)
	if recorder.Code == http.StatusCreated {
		var order struct {
			Identifiers []struct{ Value string }
		}
		_ = json.Unmarshal(recorder.Body.Bytes(), &order)
		var names []string
		for _, identifier := range order.Identifiers {
			names = append(names, identifier.Value)
		}
		a.mutex.Lock()
		a.orders = append(a.orders, strings.Join(names, ","))
		if id := replacedBy(body); id != "" {
			a.replaced = append(a.replaced, id)
		}
		a.mutex.Unlock()
	}
	for name, values := range recorder.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes())
}

// replacedBy returns which certificate an order replaces.
func replacedBy(body []byte) string {
	var signed struct{ Payload string }
	_ = json.Unmarshal(body, &signed)
	payload, _ := base64.RawURLEncoding.DecodeString(signed.Payload)
	var order struct{ Replaces string }
	_ = json.Unmarshal(payload, &order)
	return order.Replaces
}

// accepted returns the names of the orders that were accepted so far.
func (a *authority) accepted() []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return append([]string{}, a.orders...)
}

// fail sets what answers in place of Pebble; nil lets Pebble answer again.
func (a *authority) fail(intercept func(w http.ResponseWriter, r *http.Request) bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.intercept = intercept
}

// count returns how many requests a path got.
func (a *authority) count(path string) int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.requests[path]
}

// root returns the common name of one of its roots.
func (a *authority) root(n int) string {
	a.t.Helper()
	recorder := httptest.NewRecorder()
	a.wfe.ManagementHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/roots/%d", n), nil))
	block, _ := pem.Decode(recorder.Body.Bytes())
	if block == nil {
		a.t.Fatalf("no root %d: %d %s", n, recorder.Code, recorder.Body)
	}
	root, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		a.t.Fatal(err)
	}
	return root.Subject.CommonName
}

// bothTransports sends requests to the authority that they are for.
type bothTransports []*authority

// RoundTrip implements http.RoundTripper.
func (b bothTransports) RoundTrip(request *http.Request) (*http.Response, error) {
	for _, one := range b {
		if strings.HasPrefix(request.URL.String(), one.URL+"/") {
			return one.Client().Transport.RoundTrip(request)
		}
	}
	return nil, fmt.Errorf("no authority for %s", request.URL)
}

// config returns the options of a resolver that uses the authority.
func (a *authority) config() *static.ACME {
	config := &static.ACME{}
	config.SetDefaults()
	config.CAServer = a.URL + wfe.DirectoryPath
	config.Email = "operator@example.com"
	config.KeyType = "EC256"
	config.HTTPChallenge = &static.HTTPChallenge{EntryPoint: "web"}
	return config
}

// suggest sets the renewal information of a certificate.
func (a *authority) suggest(leaf *x509.Certificate, window string) {
	a.t.Helper()
	body, _ := json.Marshal(map[string]any{
		"certificate": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})), "ariResponse": window,
	})
	recorder := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "/set-renewal-info/", bytes.NewReader(body))
	request.Header.Set("User-Agent", "test")
	a.wfe.ManagementHandler().ServeHTTP(recorder, request)
	if recorder.Code != http.StatusOK {
		a.t.Fatalf("set-renewal-info: %d %s", recorder.Code, recorder.Body)
	}
}

// newDNS serves all names as 127.0.0.1.
func newDNS(t *testing.T) (*challtestsrv.ChallSrv, string) {
	t.Helper()
	address := freeAddress(t)
	server, err := challtestsrv.New(challtestsrv.Config{
		DNSAddrs: []string{address}, Log: stdlog.New(io.Discard, "", 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	server.SetDefaultDNSIPv4("127.0.0.1")
	server.SetDefaultDNSIPv6("")
	go server.Run()
	t.Cleanup(server.Shutdown)
	for range 100 {
		if connection, err := net.Dial("tcp", address); err == nil {
			_ = connection.Close()
			return server, address
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the DNS server does not listen")
	return nil, ""
}

// freeAddress returns a loopback address with a port that was free for TCP and UDP.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// replicas are Managers that share a storage, behind one address to which the authority sends its validations.
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

// replica is a running Manager.
type replica struct {
	*acme.Manager
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
	if r.tls, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
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
	one.Manager = acme.New(options)
	ctx, cancel := context.WithCancel(context.Background())
	one.cancel = cancel
	messages := make(chan dynamic.Message)
	ready := make(chan struct{})
	close(ready)
	var tasks sync.WaitGroup
	tasks.Go(func() { one.Run(ctx, ready) })
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

// eventually waits for a condition.
func eventually(t *testing.T, condition func() bool, message func() string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
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
