// Package acmetest has an ACME certificate authority for tests: Pebble, in the process of the test.
package acmetest

import (
	"bytes"
	"context"
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

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/static"
)

// Leak is the function of Pebble's that never ends, for goleak.IgnoreTopFunction.
const Leak = "github.com/letsencrypt/pebble/v2/va.VAImpl.processTasks"

// Authority is a certificate authority: Pebble, behind a handler that counts and can fail.
type Authority struct {
	*httptest.Server
	// DNS is the DNS server by which it validates, and Database its memory.
	DNS      *challtestsrv.ChallSrv
	Database *db.MemoryStore

	t   testing.TB
	wfe *wfe.WebFrontEndImpl

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

// Options say how an Authority is made.
type Options struct {
	// HTTPPort and TLSPort are where it validates HTTP-01 and TLS-ALPN-01, on 127.0.0.1 for every name.
	HTTPPort, TLSPort int
	// AlternateRoots is how many chains it offers beside the first.
	AlternateRoots int
	// Profiles are its profiles; none means one of 90 days.
	Profiles map[string]ca.Profile
	// RequireEAB says that accounts have to be bound to external ones.
	RequireEAB bool
	// RejectedNonces is the percentage of nonces that it refuses.
	RejectedNonces int
	// AlwaysValid says that it validates nothing.
	AlwaysValid bool
}

// New starts an Authority, which is closed when the test ends. It sets environment variables of Pebble.
func New(t testing.TB, options Options) *Authority {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_AUTHZREUSE", "0")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", strconv.Itoa(options.RejectedNonces))
	t.Setenv("PEBBLE_VA_ALWAYS_VALID", strconv.FormatBool(options.AlwaysValid))
	a := &Authority{t: t, Database: db.NewMemoryStore(), requests: map[string]int{}}
	dns, address := newDNS(t)
	a.DNS = dns
	if options.Profiles == nil {
		options.Profiles = map[string]ca.Profile{"default": {ValidityPeriod: 90 * 24 * 3600}}
	}
	logger := stdlog.New(io.Discard, "", 0)
	issuer := ca.New(logger, a.Database, "", "ecdsa", options.AlternateRoots, 1, options.Profiles)
	validation := va.New(logger, options.HTTPPort, options.TLSPort, false, address, a.Database)
	front := wfe.New(logger, a.Database, validation, issuer, nil, false, options.RequireEAB, 0, 0)
	a.wfe = &front
	handler := Exclusive(front.Handler())
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
	return a
}

// newOrder is the end of the path of new orders, and finalize is in the paths that finalize orders.
const (
	newOrder = "/order-plz"
	finalize = "/finalize-order/"
)

// Exclusive returns the handler of Pebble, which gets a new order, and a request that finalizes one, while it serves no
// other request. A new order locks the database before authorizations, and requests for authorizations lock the other
// way round. Two requests that finalize an order at a time both write to it, while it is read.
func Exclusive(pebble http.Handler) http.Handler {
	var orders sync.RWMutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, newOrder) || strings.Contains(r.URL.Path, finalize) {
			orders.Lock()
			defer orders.Unlock()
		} else {
			orders.RLock()
			defer orders.RUnlock()
		}
		pebble.ServeHTTP(w, r)
	})
}

// serve lets Pebble answer, and notes the orders that it accepts.
func (a *Authority) serve(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, newOrder) {
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

// IsReplacement says whether a request for an order names a certificate that it replaces. The body can be read again.
func IsReplacement(r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return replacedBy(body) != ""
}

// Orders returns the names of the orders that were accepted so far.
func (a *Authority) Orders() []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return append([]string{}, a.orders...)
}

// Intercept sets what answers in place of Pebble where it returns true; nil lets Pebble answer again.
func (a *Authority) Intercept(intercept func(w http.ResponseWriter, r *http.Request) bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.intercept = intercept
}

// Requests returns how many requests a path got.
func (a *Authority) Requests(path string) int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.requests[path]
}

// Root returns the common name of one of its roots.
func (a *Authority) Root(n int) string {
	a.t.Helper()
	recorder := httptest.NewRecorder()
	path := fmt.Sprintf("/roots/%d", n)
	request := httptest.NewRequestWithContext(a.t.Context(), http.MethodGet, path, nil)
	a.wfe.ManagementHandler().ServeHTTP(recorder, request)
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

// Transports sends requests to the Authority that they are for.
type Transports []*Authority

// RoundTrip implements http.RoundTripper.
func (b Transports) RoundTrip(request *http.Request) (*http.Response, error) {
	for _, one := range b {
		if strings.HasPrefix(request.URL.String(), one.URL+"/") {
			return one.Client().Transport.RoundTrip(request)
		}
	}
	return nil, fmt.Errorf("no authority for %s", request.URL)
}

// Config returns the options of a resolver that uses the authority.
func (a *Authority) Config() *static.ACME {
	config := &static.ACME{}
	config.SetDefaults()
	config.CAServer = a.URL + wfe.DirectoryPath
	config.Email = "operator@example.com"
	config.KeyType = "EC256"
	config.HTTPChallenge = &static.HTTPChallenge{EntryPoint: "web"}
	return config
}

// Suggest sets the renewal information of a certificate.
func (a *Authority) Suggest(leaf *x509.Certificate, window string) {
	a.t.Helper()
	body, _ := json.Marshal(map[string]any{
		"certificate": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})), "ariResponse": window,
	})
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(a.t.Context(), http.MethodPost, "/set-renewal-info/", bytes.NewReader(body))
	request.Header.Set("User-Agent", "test")
	a.wfe.ManagementHandler().ServeHTTP(recorder, request)
	if recorder.Code != http.StatusOK {
		a.t.Fatalf("set-renewal-info: %d %s", recorder.Code, recorder.Body)
	}
}

// newDNS serves all names as 127.0.0.1.
func newDNS(t testing.TB) (*challtestsrv.ChallSrv, string) {
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
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for _, network := range []string{"tcp", "udp"} { // Each begins to listen by itself.
		resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}}
		var err error
		for range 1000 {
			if _, err = resolver.LookupHost(t.Context(), "ready.test."); err == nil {
				break
			}
			<-ticker.C
		}
		if err != nil {
			t.Fatalf("the DNS server does not answer over %s: %v", network, err)
		}
	}
	return server, address
}

// freeAddress returns a loopback address with a port that is kept for TCP until the test ends, and was free for UDP.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := http1test.Reserve(t)
		if socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", address); err == nil {
			_ = socket.Close()
			return address
		}
	}
	t.Fatal("no port is free for TCP and UDP")
	return ""
}

// Replaced returns the identifiers of the certificates that orders have replaced (RFC 9773, section 5).
func (a *Authority) Replaced() []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return append([]string{}, a.replaced...)
}
