package start

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pires/go-proxyproto"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func clientTLS(authority *harness.Authority) *tls.Config { return &tls.Config{RootCAs: authority.Pool} }

// raw is a connection of HTTP/1.1 by hand.
type raw struct {
	net.Conn
	reader *bufio.Reader
}

func dial(t *testing.T, address string) raw {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return raw{connection, bufio.NewReader(connection)}
}

// ask sends one request after the preamble and returns the response; the connection stays open.
func (r raw) ask(t *testing.T, preamble string) (harness.Response, error) {
	t.Helper()
	if _, err := io.WriteString(r.Conn, preamble+"GET / HTTP/1.1\r\nHost: any.test\r\n\r\n"); err != nil {
		return harness.Response{}, err
	}
	response, err := http.ReadResponse(r.reader, nil)
	if err != nil {
		return harness.Response{}, err
	}
	defer response.Body.Close() //nolint:errcheck // It was read.
	text, err := io.ReadAll(response.Body)
	return harness.Response{Response: response, Text: string(text)}, err
}

// TestConnectionLimits holds as many connections as allowed; one more is refused, until one of them ends.
func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"maxConnections", "maxConnectionsPerClient"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			backend := harness.StartBackend(t, "one", nil)
			s := startWith(t, backend, ", transport: {limits: {"+option+": 2}}", "", harness.Setup{})
			held := []raw{dial(t, s.Addr("web")), dial(t, s.Addr("web"))}
			for _, one := range held {
				if got, err := one.ask(t, ""); err != nil || got.StatusCode != http.StatusOK {
					t.Fatalf("within the limit: %v, %v", got, err)
				}
			}
			if got, err := dial(t, s.Addr("web")).ask(t, ""); err == nil {
				t.Errorf("beyond the limit: status %d", got.StatusCode)
			}
			if got, err := held[0].ask(t, ""); err != nil || got.StatusCode != http.StatusOK {
				t.Errorf("a held connection: %v, %v", got, err)
			}
			_ = held[1].Close()
			ticker := time.NewTicker(10 * time.Millisecond)
			defer ticker.Stop()
			for range 500 {
				if got, err := dial(t, s.Addr("web")).ask(t, ""); err == nil && got.StatusCode == http.StatusOK {
					return
				}
				<-ticker.C
			}
			t.Error("a place that became free is not given away")
		})
	}
}

// TestProxyProtocol believes the PROXY header of a trusted peer, in both versions. Nobody else's is looked at.
func TestProxyProtocol(t *testing.T) {
	t.Parallel()
	backend := harness.StartBackend(t, "one", nil)
	trusting := startWith(t, backend, `, proxyProtocol: {trustedIPs: ["127.0.0.1/32"]}`, "", harness.Setup{})
	source := &net.TCPAddr{IP: net.IPv4(203, 0, 113, 7), Port: 4711}
	destination := &net.TCPAddr{IP: net.IPv4(198, 51, 100, 1), Port: 443}
	for _, version := range []byte{1, 2} {
		header, err := proxyproto.HeaderProxyFromAddrs(version, source, destination).Format()
		if err != nil {
			t.Fatal(err)
		}
		got, err := dial(t, trusting.Addr("web")).ask(t, string(header))
		if err != nil {
			t.Fatal(err)
		}
		seen := got.Echo(t).Header
		want := []string{"203.0.113.7", "203.0.113.7"}
		if diff := cmp.Diff(want, []string{seen.Get("X-Forwarded-For"), seen.Get("X-Real-Ip")}); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
	got, err := dial(t, trusting.Addr("web")).ask(t, "")
	if err != nil || got.Echo(t).Header.Get("X-Forwarded-For") != "127.0.0.1" {
		t.Errorf("without a header: %v, %v", got, err)
	}

	wary := startWith(t, backend, `, proxyProtocol: {trustedIPs: ["192.0.2.1"]}`, "", harness.Setup{})
	before := backend.Seen()
	got, err = dial(t, wary.Addr("web")).ask(t, "PROXY TCP4 203.0.113.7 198.51.100.1 4711 443\r\n")
	if err == nil && got.StatusCode != http.StatusBadRequest {
		t.Errorf("from a peer that is not trusted: status %d", got.StatusCode)
	}
	if backend.Seen() != before {
		t.Error("the backend got a request behind a PROXY header that is not trusted")
	}
}
