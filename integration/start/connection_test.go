package start

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pires/go-proxyproto"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func clientTLS(authority *harness.Authority) *tls.Config { return &tls.Config{RootCAs: authority.Pool} }

const get = "GET / HTTP/1.1\r\nHost: any.test\r\n\r\n"

// TestConnectionLimits holds as many connections as allowed; one more is refused, until one of them ends.
func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"maxConnections", "maxConnectionsPerClient"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			backend := harness.StartBackend(t, "one", nil)
			s := startWith(t, backend, ", transport: {limits: {"+option+": 2}}", "", harness.Setup{})
			held := []*harness.Raw{harness.Dial(t, s.Addr("web")), harness.Dial(t, s.Addr("web"))}
			for _, one := range held {
				if got, err := one.RoundTrip(get); err != nil || got.StatusCode != http.StatusOK {
					t.Fatalf("within the limit: %v, %v", got, err)
				}
			}
			if got, err := harness.Dial(t, s.Addr("web")).RoundTrip(get); err == nil {
				t.Errorf("beyond the limit: status %d", got.StatusCode)
			}
			if got, err := held[0].RoundTrip(get); err != nil || got.StatusCode != http.StatusOK {
				t.Errorf("a held connection: %v, %v", got, err)
			}
			_ = held[1].Close()
			ticker := time.NewTicker(10 * time.Millisecond)
			defer ticker.Stop()
			for range 500 {
				if got, err := harness.Dial(t, s.Addr("web")).RoundTrip(get); err == nil && got.StatusCode == http.StatusOK {
					return
				}
				<-ticker.C
			}
			t.Error("a place that became free is not given away")
		})
	}
}

// eventually calls a function until it returns true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 1000 {
		if condition() {
			return
		}
		<-ticker.C
	}
	t.Fatalf("waited in vain for %s", what)
}

// TestRates refuses connections and answers requests with 429 beyond the rates of an entrypoint, counts both, and goes
// on with the next token. The other entrypoint has limits of its own.
func TestRates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		option, counter string
		refused         int
	}{
		{"maxConnectionRate", `sluice_connections_refused_total{entrypoint="web",reason="connection_rate"}`, 0},
		{
			"maxConnectionRatePerClient",
			`sluice_connections_refused_total{entrypoint="web",reason="connection_rate_per_client"}`, 0,
		},
		{
			"maxRequestRate", `traefik_entrypoint_requests_total{code="429",entrypoint="web",method="GET",protocol="http"}`,
			http.StatusTooManyRequests,
		},
		{
			"maxRequestRatePerClient",
			`traefik_entrypoint_requests_total{code="429",entrypoint="web",method="GET",protocol="http"}`,
			http.StatusTooManyRequests,
		},
	} {
		t.Run(test.option, func(t *testing.T) {
			t.Parallel()
			backend := harness.StartBackend(t, "one", nil)
			s := startWith(t, backend, ", transport: {limits: {"+test.option+": 1}}", "",
				harness.Setup{Args: []string{"--metrics.prometheus=true"}})
			attempt := func() int {
				raw := harness.Dial(t, s.Addr("web"))
				defer func() { _ = raw.Close() }()
				got, err := raw.RoundTrip(get)
				if err != nil {
					return 0
				}
				return got.StatusCode
			}
			if status := attempt(); status != http.StatusOK {
				t.Errorf("the first: status %d", status)
			}
			eventually(t, "a refusal", func() bool {
				status := attempt()
				if status != http.StatusOK && status != test.refused {
					t.Fatalf("beyond the limit: status %d", status)
				}
				return status == test.refused
			})
			management := harness.NewClient(t, harness.H1, s.Addr("traefik"), "internal.test", nil)
			eventually(t, "the counter "+test.counter, func() bool { // The client may see the end before it is counted.
				return strings.Contains(management.Get("/metrics").Text, test.counter+" ")
			})
			eventually(t, "the next token", func() bool { return attempt() == http.StatusOK })
		})
	}
}

// TestProxyProtocol accepts the PROXY header of a trusted peer, in both versions, and of no other.
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
		got, err := harness.Dial(t, trusting.Addr("web")).RoundTrip(string(header) + get)
		if err != nil {
			t.Fatal(err)
		}
		seen := got.Echo(t).Header
		want := []string{"203.0.113.7", "203.0.113.7"}
		if diff := cmp.Diff(want, []string{seen.Get("X-Forwarded-For"), seen.Get("X-Real-Ip")}); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
	got, err := harness.Dial(t, trusting.Addr("web")).RoundTrip(get)
	if err != nil || got.Echo(t).Header.Get("X-Forwarded-For") != "127.0.0.1" {
		t.Errorf("without a header: %v, %v", got, err)
	}

	wary := startWith(t, backend, `, proxyProtocol: {trustedIPs: ["192.0.2.1"]}`, "", harness.Setup{})
	before := backend.Seen()
	got, err = harness.Dial(t, wary.Addr("web")).RoundTrip("PROXY TCP4 203.0.113.7 198.51.100.1 4711 443\r\n" + get)
	if err == nil && got.StatusCode != http.StatusBadRequest {
		t.Errorf("from a peer that is not trusted: status %d", got.StatusCode)
	}
	if backend.Seen() != before {
		t.Error("the backend got a request behind a PROXY header that is not trusted")
	}
}
