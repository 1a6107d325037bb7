package certificate_test

import (
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/sluiceproxy/sluice/certificate"
)

// BenchmarkHandshake makes handshakes of TLS 1.3, client and server, each on a new connection of loopback.
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
			listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			client := &tls.Config{ServerName: "a.test", InsecureSkipVerify: true}
			if name == "resumed" {
				client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
				shakeOnce(b, listener, options.Config(), client)
			}
			b.ReportAllocs()
			for b.Loop() {
				if resumed := shakeOnce(b, listener, options.Config(), client); resumed != (name == "resumed") {
					b.Fatalf("resumed: %t", resumed)
				}
			}
		})
	}
}

// shakeOnce makes a handshake, and reports whether it has resumed a session.
func shakeOnce(b *testing.B, listener net.Listener, server, client *tls.Config) bool {
	b.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		accepted, err := listener.Accept()
		if err != nil {
			return
		}
		secure := tls.Server(accepted, server)
		_, _ = secure.Write([]byte("x")) // The client reads the ticket before it.
		_ = secure.Close()
	}()
	dialer := tls.Dialer{Config: client}
	connection, err := dialer.DialContext(b.Context(), "tcp", listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(connection, make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	_ = connection.Close()
	<-ended
	secure, ok := connection.(*tls.Conn)
	return ok && secure.ConnectionState().DidResume
}
