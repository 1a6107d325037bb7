package certificate_test

import (
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/sluiceproxy/sluice/certificate"
)

// BenchmarkHandshake makes handshakes of TLS 1.3, client and server, over a pipe.
func BenchmarkHandshake(b *testing.B) {
	for _, name := range []string{"full", "resumed"} {
		b.Run(name, func(b *testing.B) {
			t := &testing.T{}
			set, _ := certificate.NewSet([]certificate.Entry{{Certificate: issueFor(t, "a.test").inline()}}, nil)
			options, err := certificate.NewOptions("test@file", nil, func() *certificate.Set { return set }, nil,
				certificate.NewTickets())
			if err != nil {
				b.Fatal(err)
			}
			client := &tls.Config{ServerName: "a.test", InsecureSkipVerify: true}
			if name == "resumed" {
				client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
				shakeOnce(b, options.Config(), client)
			}
			b.ReportAllocs()
			for b.Loop() {
				if resumed := shakeOnce(b, options.Config(), client); resumed != (name == "resumed") {
					b.Fatalf("resumed: %t", resumed)
				}
			}
		})
	}
}

// shakeOnce makes a handshake, and reports whether it has resumed a session.
func shakeOnce(b *testing.B, server, client *tls.Config) bool {
	b.Helper()
	near, far := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		secure := tls.Server(far, server)
		if secure.HandshakeContext(b.Context()) == nil {
			_, _ = secure.Write([]byte("x")) // The client reads the ticket before it.
		}
		_ = far.Close()
	}()
	secure := tls.Client(near, client)
	if _, err := io.ReadFull(secure, make([]byte, 1)); err != nil {
		b.Error(err)
	}
	_ = near.Close()
	<-ended
	return secure.ConnectionState().DidResume
}
