package streams

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// halfOpen is how many clients begin and say nothing more, of each kind.
	halfOpen = 1000
	// helloMemory is what a connection takes that has not finished its handshake: its goroutine, the ClientHello twice,
	// and the keys.
	helloMemory = 24 << 10
	// longHelloMemory is what one with the longest ClientHello takes: 72 KiB of records, and the message in them.
	longHelloMemory = 2 * 72 << 10
	// sslRequest is how a client of PostgreSQL requests TLS.
	sslRequest = "\x00\x00\x00\x08\x04\xd2\x16\x2f"
)

// TestHalfOpenHandshakes has thousands of clients connect that send nothing, or a ClientHello and nothing more. They
// are ended when the time is over, and others are served meanwhile.
func TestHalfOpenHandshakes(t *testing.T) {
	t.Parallel()
	b := besiege(t)
	var flood []net.Conn
	for i, first := range []string{"", "\x16", clientHello(t, "db.test"), clientHello(t, "www.test"), sslRequest} {
		for range halfOpen {
			conn := dial(t, "tcp", b.sluice.Addr("web"))
			if _, err := io.WriteString(conn, first); err != nil {
				t.Fatal(err)
			}
			flood = append(flood, conn)
		}
		b.serves()
		t.Logf("%d kinds of clients: %d descriptors", i+1, len(b.files())-b.descriptors)
	}
	b.bounded(int64(len(flood))*helloMemory, len(flood)+64)
	for _, conn := range flood {
		awaitEnd(t, conn)
	}
	b.serves()
	harness.Until(t, "the descriptors are those of before", func() bool { return len(b.files()) <= b.descriptors+64 })
	b.counts(3*halfOpen, "sluice_tls_handshake_errors_total", `entrypoint="web"`, `reason="timeout"`)
}

// TestSlowHello sends a ClientHello in many small pieces, so that it would take minutes: it is ended when the time of
// the entrypoint is over, and so is one behind an SSLRequest of PostgreSQL.
func TestSlowHello(t *testing.T) {
	t.Parallel()
	b := besiege(t)
	var ended sync.WaitGroup
	const each = 100
	for i := range 2 * each {
		first := ""
		if i%2 == 1 {
			first = sslRequest
		}
		began := time.Now() // The time of the entrypoint begins when the connection is accepted.
		conn := dial(t, "tcp", b.sluice.Addr("web"))
		ended.Go(func() {
			drip(conn, first+clientHello(t, "db.test"))
			if took := time.Since(began); took < openingTime || took > timeout {
				t.Errorf("ended after %v", took)
			}
		})
	}
	b.serves()
	ended.Wait()
	b.serves()
	b.bounded(2*each*helloMemory, 64)
	b.counts(2*each, "sluice_tls_handshake_errors_total", `entrypoint="web"`, `reason="timeout"`)
}

// drip sends a byte each 100 ms until the other side has closed the connection.
func drip(conn net.Conn, text string) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, conn)
	}()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for i := range text {
		if _, err := conn.Write([]byte{text[i]}); err != nil {
			break
		}
		select {
		case <-closed:
			return
		case <-ticker.C:
		}
	}
	<-closed
}

// TestLongHellos sends ClientHellos of 64 KiB. In few records it is routed, whatever else is in it; in records of a
// byte, or with a longer message, it is refused, and no more than the limit is kept.
func TestLongHellos(t *testing.T) {
	t.Parallel()
	b := besiege(t)
	names := slices.Repeat([]string{strings.Repeat("n", 250)}, 240)
	const each = 200
	hello := clientHello(t, "through.test", names...)
	if len(hello) < 60<<10 {
		t.Fatalf("%d bytes", len(hello))
	}
	client := tls.Client(dial(t, "tcp", b.sluice.Addr("web")), &tls.Config{
		ServerName: "through.test", NextProtos: names, InsecureSkipVerify: true, //nolint:gosec // It is the test's own.
	})
	if _, err := io.WriteString(client, "line\n"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(client, got); err != nil || string(got) != "line\n" {
		t.Errorf("through: got %q, %v", got, err)
	}
	small := inRecords(unwrap(hello), 1)
	// The length in the message is of 24 bits.
	long := inRecords(append([]byte{1, 1, 0, 1}, make([]byte, 1<<16+1)...), 1<<14)
	endless := inRecords(append([]byte{1, 0, 0xff, 0xff}, unwrap(hello)[4:]...), 1<<14)
	var flood []net.Conn
	for range each {
		for _, sent := range [][]byte{small, long} {
			conn := dial(t, "tcp", b.sluice.Addr("web"))
			_ = conn.SetDeadline(time.Now().Add(timeout))
			_, _ = conn.Write(sent) // It may be refused before all was sent.
			flood = append(flood, conn)
		}
		// This one keeps the connection waiting, with all but the end.
		conn := dial(t, "tcp", b.sluice.Addr("web"))
		if _, err := conn.Write(endless); err != nil {
			t.Fatal(err)
		}
		flood = append(flood, conn)
	}
	b.serves()
	b.bounded(int64(len(flood))*longHelloMemory, len(flood)+64)
	for _, conn := range flood {
		awaitEnd(t, conn)
	}
	b.serves()
	for reason, want := range map[string]float64{"protocol": 2 * each, "timeout": each} {
		b.counts(want, "sluice_tls_handshake_errors_total", `entrypoint="web"`, `reason="`+reason+`"`)
	}
	if line := b.sluice.WaitLog("connection refused", "ClientHello is too large"); line == "" {
		t.Error("the log does not say that a ClientHello was too large")
	}
}

// awaitEnd reads until the connection is closed, and drops an alert.
func awaitEnd(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(timeout))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the connection from %s is open still: %v", conn.LocalAddr(), err)
	}
}

// clientHello returns the records of a ClientHello.
func clientHello(t *testing.T, name string, protocols ...string) string {
	t.Helper()
	ours, theirs := net.Pipe()
	defer func() { _ = ours.Close() }()
	go func() {
		//nolint:gosec // There is no server.
		config := &tls.Config{ServerName: name, NextProtos: protocols, InsecureSkipVerify: true}
		_ = tls.Client(theirs, config).HandshakeContext(t.Context())
	}()
	var records bytes.Buffer
	for message := 0; ; {
		header := make([]byte, 5)
		if _, err := io.ReadFull(ours, header); err != nil {
			t.Fatal(err)
		}
		records.Write(header)
		body := make([]byte, int(header[3])<<8|int(header[4]))
		if _, err := io.ReadFull(ours, body); err != nil {
			t.Fatal(err)
		}
		records.Write(body)
		if message == 0 {
			message = 4 + int(body[1])<<16 + int(body[2])<<8 + int(body[3])
		}
		if message -= len(body); message <= 0 {
			return records.String()
		}
	}
}

// unwrap returns the message in records.
func unwrap(records string) (message []byte) {
	for len(records) > 0 {
		end := 5 + int(records[3])<<8 + int(records[4])
		message, records = append(message, records[5:end]...), records[end:]
	}
	return message
}

// inRecords puts a message into records of a size.
func inRecords(message []byte, size int) (records []byte) {
	for part := range slices.Chunk(message, size) {
		records = append(records, 0x16, 3, 1, byte(len(part)>>8), byte(len(part)))
		records = append(records, part...)
	}
	return records
}
