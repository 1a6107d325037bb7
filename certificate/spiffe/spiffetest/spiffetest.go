// Package spiffetest is a SPIFFE Workload API for tests, with certificate authorities of trust domains.
package spiffetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Authority is the certificate authority of a trust domain.
type Authority struct {
	// Domain is the trust domain.
	Domain string
	t      testing.TB
	leaf   *x509.Certificate
	key    *ecdsa.PrivateKey
}

// SVID is an X.509-SVID with its key.
type SVID struct {
	// ID is its SPIFFE ID, or "" for a certificate without one.
	ID string
	// TLS is what a server or client presents.
	TLS tls.Certificate
}

// NewAuthority returns a new authority, with a key of its own, of a trust domain.
func NewAuthority(t testing.TB, domain string) *Authority {
	t.Helper()
	a := &Authority{Domain: domain, t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: domain},
		URIs:      []*url.URL{{Scheme: "spiffe", Host: domain}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.leaf, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// Issue returns a new SVID for a path ("/shop") that is valid until notAfter. For 127.0.0.1 as well, since Go's clients
// without SPIFFE verify the host.
func (a *Authority) Issue(path string, notAfter time.Time) SVID {
	a.t.Helper()
	id := &url.URL{Scheme: "spiffe", Host: a.Domain, Path: path}
	return SVID{ID: id.String(), TLS: a.issue([]*url.URL{id}, notAfter)}
}

// Ordinary returns a certificate for 127.0.0.1 without a SPIFFE ID.
func (a *Authority) Ordinary() SVID {
	a.t.Helper()
	return SVID{TLS: a.issue(nil, time.Now().Add(time.Hour))}
}

func (a *Authority) issue(ids []*url.URL, notAfter time.Time) tls.Certificate {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: serial(a.t), URIs: ids, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: notAfter, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.leaf, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// Pool returns the authority's certificate as a pool, and PEM returns it as text.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.leaf)
	return pool
}

// PEM returns the authority's certificate as text.
func (a *Authority) PEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.leaf.Raw}))
}

// Delivery is a response of the Workload API: an SVID, its authorities, and those of other trust domains.
func Delivery(t testing.TB, svid SVID, own []*Authority, federated ...*Authority) *workload.X509SVIDResponse {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(svid.TLS.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	delivered := &workload.X509SVID{SpiffeId: svid.ID, X509Svid: svid.TLS.Certificate[0], X509SvidKey: key}
	for _, authority := range own {
		delivered.Bundle = append(delivered.Bundle, authority.leaf.Raw...)
	}
	response := &workload.X509SVIDResponse{
		Svids: []*workload.X509SVID{delivered}, FederatedBundles: map[string][]byte{},
	}
	for _, authority := range federated {
		id := "spiffe://" + authority.Domain
		response.FederatedBundles[id] = append(response.FederatedBundles[id], authority.leaf.Raw...)
	}
	return response
}

// API is a Workload API. Its methods may be called from any goroutine.
type API struct {
	workload.UnimplementedSpiffeWorkloadAPIServer

	mutex   sync.Mutex
	now     *workload.X509SVIDResponse
	refusal error
	changed chan struct{}
	server  *grpc.Server
	path    string
	t       testing.TB
}

// NewAPI returns an API at the path of a socket that does not listen before Start.
func NewAPI(t testing.TB, path string) *API {
	a := &API{changed: make(chan struct{}), path: path, t: t}
	t.Cleanup(a.Stop)
	return a
}

// Address returns the value of the option spiffe.workloadAPIAddr.
func (a *API) Address() string { return "unix://" + a.path }

// Start listens.
func (a *API) Start() {
	a.t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "unix", a.path)
	if err != nil {
		a.t.Fatal(err)
	}
	server := grpc.NewServer()
	workload.RegisterSpiffeWorkloadAPIServer(server, a)
	a.mutex.Lock()
	a.server = server
	a.mutex.Unlock()
	go func() { _ = server.Serve(listener) }() // Stop ends it.
}

// Stop ends all streams and no longer listens.
func (a *API) Stop() {
	a.mutex.Lock()
	server := a.server
	a.server = nil
	a.mutex.Unlock()
	if server != nil {
		server.Stop()
	}
}

// Deliver sends a response to the clients that are there and come.
func (a *API) Deliver(response *workload.X509SVIDResponse) { a.set(response, nil) }

// Refuse ends the streams with PermissionDenied, as for a workload without a registration.
func (a *API) Refuse() { a.Fail(codes.PermissionDenied, "no identity issued") }

// Fail ends the streams with a code.
func (a *API) Fail(code codes.Code, text string) { a.set(nil, status.Error(code, text)) }

func (a *API) set(response *workload.X509SVIDResponse, refusal error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.now, a.refusal = response, refusal
	close(a.changed)
	a.changed = make(chan struct{})
}

// FetchX509SVID implements the Workload API.
func (a *API) FetchX509SVID(
	_ *workload.X509SVIDRequest, stream grpc.ServerStreamingServer[workload.X509SVIDResponse],
) error {
	if header, _ := metadata.FromIncomingContext(stream.Context()); len(header.Get("workload.spiffe.io")) == 0 {
		return status.Error(codes.InvalidArgument, "security header missing from request")
	}
	for {
		a.mutex.Lock()
		response, refusal, changed := a.now, a.refusal, a.changed
		a.mutex.Unlock()
		if refusal != nil {
			return refusal
		}
		if response != nil {
			if err := stream.Send(response); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	return number
}
