package soak

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// timeout bounds every wait for an answer.
const timeout = time.Minute

// messages returns how many messages a connection is for. A hand-over cuts connections that are open for longer than
// its time to drain.
func (w *world) messages() int { return max(1, min(100, int(drain/2/w.pace))) }

// exchange sends a message over TCP or UDP and gets it back: some on each connection or session.
func (w *world) exchange(t *testing.T, network string) func() error {
	t.Helper()
	messages := w.messages()
	entrypoint := map[string]string{"tcp": "mail", "udp": "dns"}[network]
	address := w.current().Addr(entrypoint)
	var conn net.Conn
	n := 0
	t.Cleanup(func() {
		if conn != nil {
			_ = conn.Close()
		}
	})
	return func() (err error) {
		if n%messages == 0 {
			if conn != nil {
				_ = conn.Close()
			}
			if conn, err = new(net.Dialer).DialContext(t.Context(), network, address); err != nil {
				return err
			}
		}
		n++
		message := fmt.Sprintf("%09d", n)
		_ = conn.SetDeadline(time.Now().Add(timeout))
		if _, err = io.WriteString(conn, message); err != nil {
			return err
		}
		got := make([]byte, len(message))
		if _, err = io.ReadFull(conn, got); err == nil && string(got) != message {
			err = fmt.Errorf("%q came back for %q", got, message)
		}
		return err
	}
}

// secured makes handshakes for the host whose certificate an ACME server issues. The first ones may come before it.
func (w *world) secured(t *testing.T) func() error {
	t.Helper()
	address := w.current().Addr("websecure")
	issued := false
	return func() error {
		//nolint:gosec // The certificate is looked at below: its authority is Pebble's, which has another one at each start.
		dialer := tls.Dialer{Config: &tls.Config{ServerName: issuedHost, InsecureSkipVerify: true}}
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			return err
		}
		leaf := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
		_ = conn.Close()
		ours := strings.Contains(leaf.Issuer.CommonName, "Pebble")
		if issued && !ours {
			return errors.New("the certificate is not the ACME server's any more")
		}
		issued = issued || ours
		return nil
	}
}
