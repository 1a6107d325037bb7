package acme_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/static"
)

// shake returns the names of the certificate that a replica gives a client for a server name; none without one.
func shake(t *testing.T, one *replica, name string) []string {
	t.Helper()
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	var serving sync.WaitGroup
	serving.Go(func() {
		defer func() { _ = server.Close() }()
		config := &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return one.Get(hello), nil
		}}
		_ = tls.Server(server, config).HandshakeContext(context.Background())
	})
	defer serving.Wait()
	connection := tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err := connection.HandshakeContext(t.Context()); err != nil {
		_ = client.Close()
		return nil
	}
	return connection.ConnectionState().PeerCertificates[0].DNSNames
}

// A name that the decision allows gets its certificate in the handshake, one order for all that ask at a time, on
// every replica; another name gets none and costs no order.
func TestOnDemand(t *testing.T) {
	asked := make(chan string, 100)
	ask := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("domain")
		asked <- name
		if name != "customer.example.net" {
			http.Error(w, "unknown customer", http.StatusNotFound)
		}
	}))
	defer ask.Close()
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	config := authority.Config()
	config.OnDemand = &static.OnDemand{
		Ask: ask.URL + "/allowed?key=1", Patterns: []string{"*.tenants.example.com"}, Timeout: static.Duration(time.Minute),
	}
	resolvers := map[string]*static.ACME{"le": config}
	replicas := []*replica{group.start(resolvers), group.start(resolvers)}
	demands := []certificate.Demand{{Router: "all@file", Resolver: "le"}}
	for _, one := range replicas {
		one.Want(demands, uncovered)
	}
	var clients sync.WaitGroup
	for i := range 20 {
		clients.Go(func() {
			for _, name := range []string{"customer.example.net", "a.tenants.example.com"} {
				if got := shake(t, replicas[i%2], name); fmt.Sprint(got) != fmt.Sprint([]string{name}) {
					t.Errorf("%s got the certificate of %q", name, got)
				}
			}
		})
	}
	clients.Wait()
	for _, name := range []string{
		"stranger.example.net", "a.b.tenants.example.com", "localhost", "*.tenants.example.com", "192.0.2.1",
	} {
		if got := shake(t, replicas[0], name); got != nil {
			t.Errorf("%s got the certificate of %q", name, got)
		}
	}
	if orders := authority.Orders(); len(orders) != 2 {
		t.Errorf("orders %q", orders)
	}
	close(asked)
	count := map[string]int{}
	for name := range asked {
		count[name]++
	}
	if count["customer.example.net"] > 2 || count["a.tenants.example.com"] > 0 || count["stranger.example.net"] != 1 {
		t.Errorf("questions %v", count)
	}
}

// Without a router that names the resolver, and without an answer, nothing is ordered.
func TestOnDemandFailsClosed(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	config := authority.Config()
	config.OnDemand = &static.OnDemand{Ask: "http://127.0.0.1:1/", Timeout: static.Duration(time.Second)}
	one := group.one(config)
	one.Want([]certificate.Demand{}, uncovered)
	if got := shake(t, one, "a.example.com"); got != nil {
		t.Errorf("without a router: %q", got)
	}
	one.Want([]certificate.Demand{{Router: "all@file", Resolver: "le"}}, uncovered)
	if got := shake(t, one, "a.example.com"); got != nil {
		t.Errorf("without an answer: %q", got)
	}
	if n := authority.Requests("/order-plz"); n != 0 {
		t.Errorf("%d orders", n)
	}
}

// What is no challenge, or is requested at another host, is not found.
func TestResponder(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	one := group.one(authority.Config())
	validating, release := make(chan string, 1), make(chan struct{})
	group.http.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case validating <- r.URL.Path:
			<-release
		default:
		}
		one.ServeHTTP(w, r)
	})
	one.Want(want("le", "a.example.com"), uncovered)
	path := <-validating
	request := func(method, host, path string) int {
		recorder := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, "http://"+host+path, nil)
		one.ServeHTTP(recorder, r)
		return recorder.Code
	}
	for _, test := range []struct {
		method, host, path string
		want               int
	}{
		{"GET", "a.example.com", path, 200},
		{"GET", "A.Example.com:8080", path, 200},
		{"HEAD", "a.example.com", path, 200},
		{"POST", "a.example.com", path, 404},
		{"GET", "b.example.com", path, 404},
		{"GET", "127.0.0.1", path, 404},
		{"GET", "a.example.com", path + "x", 404},
		{"GET", "a.example.com", "/.well-known/acme-challenge/", 404},
		{"GET", "a.example.com", "/.well-known/acme-challenge/../x", 404},
		{"GET", "a.example.com", "/other", 404},
	} {
		if got := request(test.method, test.host, test.path); got != test.want {
			t.Errorf("%s %s%s: %d, want %d", test.method, test.host, test.path, got, test.want)
		}
	}
	close(release)
	one.await(t, "le", "a.example.com")
	if got := request("GET", "a.example.com", path); got != 404 {
		t.Errorf("after the validation: %d", got)
	}
}

// The name of a router is ordered by its resolver alone, whatever the decisions of others are.
func TestOnDemandLeavesTheNamesOfOtherResolvers(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	_ = authority.Database.AddBlockedDomain("a.example.com")
	tenants := authority.Config()
	tenants.OnDemand = &static.OnDemand{Patterns: []string{"*.example.com"}, Timeout: static.Duration(time.Minute)}
	one := group.start(map[string]*static.ACME{"le": authority.Config(), "any": tenants})
	one.Want(append(want("le", "a.example.com"), certificate.Demand{Router: "all@file", Resolver: "any"}), uncovered)
	if got := shake(t, one, "a.example.com"); got != nil {
		t.Errorf("a certificate of %q", got)
	}
	if got := shake(t, one, "b.example.com"); len(got) == 0 {
		t.Error("no certificate for a name of no router")
	}
	if orders := authority.Orders(); fmt.Sprint(orders) != "[b.example.com]" {
		t.Errorf("orders %q", orders)
	}
}
