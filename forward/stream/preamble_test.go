package stream_test

import (
	"io"
	"net"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/telemetry"
)

// sslRequest is how a client of PostgreSQL requests TLS.
const sslRequest = "\x00\x00\x00\x08\x04\xd2\x16\x2f"

// startTLS gives each client the preamble.
func startTLS(conn *net.TCPConn) *stream.Client {
	return &stream.Client{Conn: conn, Preamble: &stream.Preamble{Request: []byte(sslRequest), Answer: []byte("S")}}
}

// postgres answers the request of clients, and echoes what follows if the answer begins with S.
func postgres(t *testing.T, answer string) string {
	t.Helper()
	return listen(t, func(conn *net.TCPConn) {
		request := make([]byte, len(sslRequest))
		if _, err := io.ReadFull(conn, request); err != nil || string(request) != sslRequest {
			t.Errorf("the server got %q, %v", request, err)
		}
		_, _ = io.WriteString(conn, answer)
		if answer != "" && answer[0] == 'S' {
			echo(conn)
		}
	})
}

func TestPreamble(t *testing.T) {
	transport := forEver()
	g := newRig(t, setup{servers: servers(postgres(t, "S")), transport: transport, wrap: startTLS})
	client := g.dial(t)
	exchange(t, client, "hello", "hello")
	_ = client.Close()
	result := g.result(t)
	equal(t, "bytes", result.FromClient*100+result.FromServer, 505)

	// What comes behind the answer is the client's.
	g = newRig(t, setup{servers: servers(postgres(t, "Sxyz")), transport: transport, wrap: startTLS})
	expect(t, g.dial(t), "xyz")
}

func TestPreambleFails(t *testing.T) {
	transport := forEver()
	transport.DialTimeout = ptypes.Duration(50 * time.Millisecond)
	silent, _ := accepted(t)
	closing := listen(t, func(conn *net.TCPConn) {
		_, _ = io.ReadFull(conn, make([]byte, len(sslRequest)))
		_ = conn.Close()
	})
	for name, test := range map[string]struct {
		address string
		code    telemetry.Code
		reason  string
	}{
		"no TLS":  {postgres(t, "N"), telemetry.CodeBroken, `STARTTLS: the server answered "N", not "S"`},
		"error":   {postgres(t, "E"), telemetry.CodeBroken, `STARTTLS: the server answered "E", not "S"`},
		"silence": {silent, telemetry.CodeTimeout, "STARTTLS: not done within 50ms"},
		"the end": {closing, telemetry.CodeUnreachable, "STARTTLS: EOF"},
	} {
		s := setup{servers: servers(test.address), transport: forEver(), wrap: startTLS}
		if name == "silence" {
			s.transport = transport
		}
		result := newRig(t, s).refused(t)
		equal(t, name, string(result.Code)+": "+result.Reason, string(test.code)+": "+test.reason)
	}

	// Another server may have TLS.
	g := newRig(t, setup{
		servers: servers(postgres(t, "N"), postgres(t, "S")), transport: forEver(), wrap: startTLS,
		options: stream.Options{Attempts: 1},
	})
	for range 2 {
		exchange(t, g.dial(t), "hello", "hello")
	}
}

// TestPreambleBehindTheHeader has both.
func TestPreambleBehindTheHeader(t *testing.T) {
	transport := forEver()
	transport.ProxyProtocol = &dynamic.ProxyProtocol{Version: 1}
	first := make(chan string, 1)
	address := listen(t, func(conn *net.TCPConn) {
		all := make([]byte, 4096)
		n := 0
		for n < len(sslRequest) || string(all[n-len(sslRequest):n]) != sslRequest {
			read, err := conn.Read(all[n:])
			if err != nil {
				t.Error(err)
				return
			}
			n += read
		}
		first <- string(all[:n])
		_, _ = io.WriteString(conn, "S")
		echo(conn)
	})
	g := newRig(t, setup{servers: servers(address), transport: transport, wrap: startTLS})
	client := g.dial(t)
	exchange(t, client, "hello", "hello")
	want := string(stream.ProxyHeader(transport.ProxyProtocol, &stream.Client{
		Conn: addressed{remote: client.LocalAddr(), local: client.RemoteAddr()},
	})) + sslRequest
	equal(t, "what the server gets first", receive(t, first), want)
}
