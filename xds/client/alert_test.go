package client_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/sluiceproxy/sluice/xds/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lost ends a client with its first error.
type lost struct {
	cancel context.CancelFunc
	err    error
}

// Receive implements client.Consumer.
func (*lost) Receive(client.Response) error { return nil }

// Connected implements client.Consumer.
func (l *lost) Connected(err error) {
	if err != nil {
		l.err = err
		l.cancel()
	}
}

// serve serves gRPC with TLS on a loopback address, and requires certificates.
func serve(t *testing.T) (address string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
		ClientAuth:   tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13,
	})))
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test listens
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return listener.Addr().String()
}

// TestTheAlertOfTheServerIsNamed connects without a certificate to a server that requires one. With TLS 1.3 the server
// refuses it after the client's handshake, and closes the connection while the client writes.
func TestTheAlertOfTheServerIsNamed(t *testing.T) {
	address := serve(t)
	for range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		to := &lost{cancel: cancel}
		one := client.New(client.Options{Address: address, Node: "n", TLS: func() (*tls.Config, error) {
			return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}, nil //nolint:gosec // a test
		}})
		one.Subscribe("type", []string{"a"})
		one.Run(ctx, to)
		cancel()
		if to.err == nil || !strings.Contains(to.err.Error(), "remote error: tls: certificate required") {
			t.Errorf("%v, want the alert", to.err)
		}
	}
}
