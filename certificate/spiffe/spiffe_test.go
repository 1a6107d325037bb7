package spiffe_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	"github.com/sluiceproxy/sluice/certificate/spiffe"
	"github.com/sluiceproxy/sluice/certificate/spiffe/spiffetest"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// patience is how long a test waits for what must happen.
	patience = 2 * time.Minute
	shop     = "spiffe://own.test/shop"
)

// lines is a logger that keeps lines.
type lines struct {
	telemetry.Discard
	mutex sync.Mutex
	all   []string
}

func (l *lines) Info(message string, values ...any)  { l.add("info", message, values) }
func (l *lines) Error(message string, values ...any) { l.add("error", message, values) }

func (l *lines) add(level, message string, values []any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.all = append(l.all, fmt.Sprint(level, ": ", message, " ", values))
}

// with returns the lines with a text.
func (l *lines) with(text string) []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var found []string
	for _, line := range l.all {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// bench is a Source with the API that it follows, and the authority of its own trust domain.
type bench struct {
	*spiffe.Source
	t    *testing.T
	api  *spiffetest.API
	own  *spiffetest.Authority
	logs *lines
}

// newBench returns a bench whose API does not listen.
func newBench(t *testing.T) *bench {
	t.Helper()
	api := spiffetest.NewAPI(t, filepath.Join(t.TempDir(), "api.sock"))
	logs := &lines{}
	source, err := spiffe.New(spiffe.Options{
		Address: api.Address(), Logger: logs, LongestPause: 20 * time.Millisecond, DeniedGrace: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { source.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return &bench{Source: source, t: t, api: api, own: spiffetest.NewAuthority(t, "own.test"), logs: logs}
}

// newReady returns a bench that has the SVID spiffe://own.test/proxy.
func newReady(t *testing.T, federated ...*spiffetest.Authority) *bench {
	t.Helper()
	b := newBench(t)
	b.api.Start()
	b.deliver("/proxy", federated...)
	b.until(func() bool { return b.Ready() == nil })
	return b
}

// deliver sends an SVID that is valid for an hour.
func (b *bench) deliver(path string, federated ...*spiffetest.Authority) {
	b.t.Helper()
	svid := b.own.Issue(path, time.Now().Add(time.Hour))
	b.api.Deliver(spiffetest.Delivery(b.t, svid, []*spiffetest.Authority{b.own}, federated...))
}

// until waits until something is so, which the source's changes bring about.
func (b *bench) until(so func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	for !so() {
		select {
		case <-b.Changed():
		case <-ctx.Done():
			b.t.Fatalf("did not happen; ready: %v; log: %q", b.Ready(), b.logs.all)
		}
	}
}

// connect makes a connection to a server that presents a certificate, and returns the URI of the certificate that the
// server sees.
func (b *bench) connect(server spiffetest.SVID, accepted dynamic.Spiffe) (string, error) {
	b.t.Helper()
	settings := &tls.Config{}
	if err := b.Authenticate(settings, &accepted); err != nil {
		b.t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(b.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	saw := make(chan string, 1)
	go func() {
		bottom, err := listener.Accept()
		if err != nil {
			saw <- ""
			return
		}
		defer func() { _ = bottom.Close() }()
		conn := tls.Server(bottom, &tls.Config{
			Certificates: []tls.Certificate{server.TLS}, ClientAuth: tls.RequireAnyClientCert,
		})
		if err := conn.HandshakeContext(context.Background()); err != nil {
			saw <- ""
			return
		}
		saw <- conn.ConnectionState().PeerCertificates[0].URIs[0].String()
	}()
	defer func() { _ = listener.Close() }()
	bottom, err := new(net.Dialer).DialContext(b.t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	conn := tls.Client(bottom, settings)
	err = conn.HandshakeContext(b.t.Context())
	_ = bottom.Close()
	return <-saw, err
}

func TestAccepted(t *testing.T) {
	other, unknown := spiffetest.NewAuthority(t, "other.test"), spiffetest.NewAuthority(t, "unknown.test")
	b := newReady(t, other)
	later := time.Now().Add(time.Hour)
	ours, theirs := b.own.Issue("/shop", later), other.Issue("/shop", later)
	imitated := spiffetest.NewAuthority(t, "own.test").Issue("/shop", later)
	for name, test := range map[string]struct {
		server   spiffetest.SVID
		accepted dynamic.Spiffe
		want     string
	}{
		"id":                   {ours, dynamic.Spiffe{IDs: []string{shop}}, ""},
		"one of the ids":       {ours, dynamic.Spiffe{IDs: []string{"spiffe://own.test/cart", shop}}, ""},
		"other id":             {ours, dynamic.Spiffe{IDs: []string{"spiffe://own.test/cart"}}, "unexpected ID"},
		"prefix of id":         {ours, dynamic.Spiffe{IDs: []string{"spiffe://own.test/sho"}}, "unexpected ID"},
		"id of other domain":   {theirs, dynamic.Spiffe{IDs: []string{shop}}, "unexpected ID"},
		"federated id":         {theirs, dynamic.Spiffe{IDs: []string{"spiffe://other.test/shop"}}, ""},
		"ids win":              {theirs, dynamic.Spiffe{IDs: []string{shop}, TrustDomain: "other.test"}, "unexpected ID"},
		"domain":               {ours, dynamic.Spiffe{TrustDomain: "own.test"}, ""},
		"domain as id":         {ours, dynamic.Spiffe{TrustDomain: "spiffe://own.test"}, ""},
		"other domain":         {theirs, dynamic.Spiffe{TrustDomain: "own.test"}, "unexpected trust domain"},
		"any":                  {ours, dynamic.Spiffe{}, ""},
		"any, federated":       {theirs, dynamic.Spiffe{}, ""},
		"any, unknown domain":  {unknown.Issue("/shop", later), dynamic.Spiffe{}, "no X.509 bundle"},
		"any, imitated domain": {imitated, dynamic.Spiffe{}, "unknown authority"},
		"id, imitated":         {imitated, dynamic.Spiffe{IDs: []string{shop}}, "unknown authority"},
		"expired":              {b.own.Issue("/shop", time.Now().Add(-time.Minute)), dynamic.Spiffe{}, "expired"},
		"no id":                {b.own.Ordinary(), dynamic.Spiffe{}, "no URI SAN"},
	} {
		t.Run(name, func(t *testing.T) {
			saw, err := b.connect(test.server, test.accepted)
			switch {
			case test.want == "" && (err != nil || saw != "spiffe://own.test/proxy"):
				t.Errorf("the server sees %q, the client gets %v", saw, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestInvalidIdentities(t *testing.T) {
	b := newBench(t)
	for want, accepted := range map[string]dynamic.Spiffe{
		`spiffe.ids[1]: "own.test/shop" is no SPIFFE ID`:    {IDs: []string{shop, "own.test/shop"}},
		`spiffe.ids[0]: "" is no SPIFFE ID`:                 {IDs: []string{""}},
		`spiffe.ids[0]: "spiffe://own.test/" is no`:         {IDs: []string{"spiffe://own.test/"}},
		`spiffe.trustDomain: "Own Test" is no trust domain`: {TrustDomain: "Own Test"},
	} {
		settings := &tls.Config{}
		if err := b.Authenticate(settings, &accepted); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAddress(t *testing.T) {
	for address, valid := range map[string]bool{
		"unix:///run/spire/agent.sock": true, "tcp://127.0.0.1:8081": true, "tcp://[::1]:8081": true,
		"": false, "localhost": false, "/run/agent.sock": false, "tcp://localhost:8081": false, "tcp://127.0.0.1": false,
		"http://127.0.0.1:8081": false, "tcp://user:secret@127.0.0.1:8081": false, "unix://": false,
	} {
		_, err := spiffe.New(spiffe.Options{Address: address, Logger: telemetry.Discard{}})
		if (err == nil) != valid {
			t.Errorf("%q: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// While the API is away, nothing is accepted and one line is logged; later, connections work without a restart.
func TestAwayAtStart(t *testing.T) {
	t.Setenv("SPIFFE_ENDPOINT_SOCKET", "unix:///nowhere")
	b := newBench(t)
	b.until(func() bool { return strings.Contains(b.Ready().Error(), "no such file") })
	if id, _ := b.SVID(); id != "" {
		t.Errorf("there is an SVID: %q", id)
	}
	server := b.own.Issue("/shop", time.Now().Add(time.Hour))
	if _, err := b.connect(server, dynamic.Spiffe{}); err == nil || !strings.Contains(err.Error(), "has delivered no") {
		t.Errorf("a connection without an SVID: %v", err)
	}
	b.api.Start()
	b.api.Refuse()
	b.until(func() bool { return strings.Contains(b.Ready().Error(), "no identity issued") })
	b.deliver("/proxy")
	b.until(func() bool { return b.Ready() == nil })
	<-b.First()
	if saw, err := b.connect(server, dynamic.Spiffe{}); err != nil || saw != "spiffe://own.test/proxy" {
		t.Errorf("the server sees %q, the client gets %v", saw, err)
	}
	if logged := b.logs.with("error:"); len(logged) != 1 || !strings.Contains(logged[0], b.api.Address()) {
		t.Errorf("logged %q", logged)
	}
	id, notAfter := b.SVID()
	if left := time.Until(notAfter); id != "spiffe://own.test/proxy" || left < 59*time.Minute || left > time.Hour {
		t.Errorf("the SVID is %q until %v", id, notAfter)
	}
}

// An SVID that the API takes back is dropped after the grace time, and not if there is another one before.
func TestDenied(t *testing.T) {
	b := newReady(t)
	b.api.Refuse()
	b.until(func() bool { return b.Ready() != nil })
	if logged := b.logs.with("has no X.509-SVID for Sluice any more"); len(logged) != 1 {
		t.Errorf("logged %q", logged)
	}
	b.deliver("/again")
	b.until(func() bool { return b.Ready() == nil })
}

func TestRotation(t *testing.T) {
	b := newReady(t)
	server := b.own.Issue("/shop", time.Now().Add(time.Hour))
	b.deliver("/renamed")
	b.until(func() bool { id, _ := b.SVID(); return id == "spiffe://own.test/renamed" })
	if saw, err := b.connect(server, dynamic.Spiffe{}); err != nil || saw != "spiffe://own.test/renamed" {
		t.Errorf("the server sees %q, the client gets %v", saw, err)
	}
	if logged := b.logs.with("new X.509-SVID"); len(logged) != 2 || !strings.Contains(logged[1], "own.test/renamed") {
		t.Errorf("logged %q", logged)
	}

	// The authority is replaced, with a time in which both count.
	next := spiffetest.NewAuthority(t, "own.test")
	moved := next.Issue("/shop", time.Now().Add(time.Hour))
	if _, err := b.connect(moved, dynamic.Spiffe{}); err == nil {
		t.Error("an unknown authority is accepted")
	}
	svid := b.own.Issue("/proxy", time.Now().Add(time.Hour))
	accepted := func(server spiffetest.SVID) bool { _, err := b.connect(server, dynamic.Spiffe{}); return err == nil }
	b.api.Deliver(spiffetest.Delivery(t, svid, []*spiffetest.Authority{b.own, next}))
	b.until(func() bool { return accepted(moved) && accepted(server) })
	b.api.Deliver(spiffetest.Delivery(t, svid, []*spiffetest.Authority{next}))
	b.until(func() bool { return accepted(moved) && !accepted(server) })
	if logged := b.logs.with("bundles have changed"); len(logged) != 1 {
		t.Errorf("logged %q", logged)
	}
}

// signalled waits for a signal that Ready may have changed.
func (b *bench) signalled(after string) {
	b.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-b.Changed():
	case <-timer.C:
		b.t.Fatalf("no signal after %s", after)
	}
}

// What is malformed changes nothing, and the stream goes on.
func TestMalformed(t *testing.T) {
	b := newReady(t)
	good := spiffetest.Delivery(t, b.own.Issue("/proxy", time.Now().Add(time.Hour)), []*spiffetest.Authority{b.own})
	server := b.own.Issue("/shop", time.Now().Add(time.Hour))
	// Each has another error than the one before, so that the change is signalled.
	for _, test := range []struct {
		name  string
		spoil func(*workload.X509SVID)
	}{
		{"certificate", func(s *workload.X509SVID) { s.X509Svid = []byte("x") }},
		{"empty", nil},
		{"key", func(s *workload.X509SVID) { s.X509SvidKey = []byte("x") }},
		{"bundle", func(s *workload.X509SVID) { s.Bundle = s.Bundle[:10] }},
		{"no key", func(s *workload.X509SVID) { s.X509SvidKey = nil }},
		{"authority", func(s *workload.X509SVID) { s.X509Svid = s.Bundle }},
	} {
		spoiled := &workload.X509SVIDResponse{}
		if test.spoil != nil {
			spoiled.Svids = []*workload.X509SVID{{
				SpiffeId: good.Svids[0].SpiffeId, X509Svid: good.Svids[0].X509Svid, X509SvidKey: good.Svids[0].X509SvidKey,
				Bundle: good.Svids[0].Bundle,
			}}
			test.spoil(spoiled.Svids[0])
		}
		b.api.Deliver(spoiled)
		b.signalled(test.name)
		if saw, err := b.connect(server, dynamic.Spiffe{}); err != nil || saw != "spiffe://own.test/proxy" {
			t.Errorf("%s: the server sees %q, the client gets %v", test.name, saw, err)
		}
	}
	if logged := b.logs.with("until it expires"); len(logged) != 1 {
		t.Errorf("logged %q", logged)
	}
	b.deliver("/renamed")
	b.until(func() bool { id, _ := b.SVID(); return id == "spiffe://own.test/renamed" })
}

// An SVID that expires while the API is away is not presented, and is logged once.
func TestExpiry(t *testing.T) {
	b := newBench(t)
	b.api.Start()
	svid := b.own.Issue("/proxy", time.Now().Add(6*time.Second)) // It has to be valid when it arrives.
	b.api.Deliver(spiffetest.Delivery(t, svid, []*spiffetest.Authority{b.own}))
	<-b.First()
	b.api.Stop()
	b.until(func() bool { err := b.Ready(); return err != nil && strings.Contains(err.Error(), "has expired at") })
	server := b.own.Issue("/shop", time.Now().Add(time.Hour))
	if saw, err := b.connect(server, dynamic.Spiffe{}); err == nil || saw != "" {
		t.Errorf("the server sees %q, the client gets %v", saw, err)
	}
	b.api.Start()
	b.api.Deliver(spiffetest.Delivery(t, b.own.Issue("/late", time.Now().Add(-time.Minute)),
		[]*spiffetest.Authority{b.own}))
	b.until(func() bool { return len(b.logs.with("delivered X.509-SVID has expired")) == 1 })
	if err := b.Ready(); err == nil {
		t.Error("an expired SVID is used")
	}
	b.deliver("/proxy")
	b.until(func() bool { return b.Ready() == nil })
}

// After a code that the library takes for final, the watch begins anew.
func TestFinalCode(t *testing.T) {
	b := newReady(t)
	b.api.Fail(codes.InvalidArgument, "unknown")
	b.until(func() bool { return len(b.logs.with("unknown")) == 1 })
	b.api.Stop()
	b.api.Start()
	b.deliver("/renamed")
	b.until(func() bool { id, _ := b.SVID(); return id == "spiffe://own.test/renamed" })
}
