package entrypoint_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// countingTLS starts an entrypoint that counts its handshakes, and returns it with a function that returns their
// counters without the name of the family and the entrypoint. change and adapt may be nil.
func countingTLS(
	t *testing.T, change func(*static.EntryPoint), adapt func(*entrypoint.Dependencies),
) (*served, func() []string) {
	t.Helper()
	counters := metrics.New(metrics.Options{})
	s := startDeps(t, http.HandlerFunc(connectionState), change, func(deps *entrypoint.Dependencies) {
		deps.Handshakes = counters.Entrypoint("web")
		if adapt != nil {
			adapt(deps)
		}
	})
	return s, func() []string {
		answer := httptest.NewRecorder()
		counters.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		var lines []string
		for line := range strings.Lines(answer.Body.String()) {
			if rest, ok := strings.CutPrefix(line, "sluice_tls_handshake"); ok {
				rest = strings.NewReplacer("s_total{", "", "_errors_total{", "", `entrypoint="web",`, "", "}", "").Replace(rest)
				lines = append(lines, strings.TrimSpace(rest))
			}
		}
		return lines
	}
}

func TestHandshakesAreCounted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options *dynamic.TLSOptions
		change  func(*tls.Config)
		times   int
		want    []string
	}{
		{"post-quantum by default", nil, nil, 1, []string{`curve="X25519MLKEM768",resumed="false",version="1.3" 1`}},
		{
			"post-quantum turned off",
			&dynamic.TLSOptions{CurvePreferences: []string{"X25519"}},
			nil, 1,
			[]string{`curve="X25519",resumed="false",version="1.3" 1`},
		},
		{
			"client without it", nil, func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.CurveP256} },
			1,
			[]string{`curve="CurveP256",resumed="false",version="1.3" 1`},
		},
		{"resumed", nil, nil, 3, []string{
			`curve="X25519MLKEM768",resumed="false",version="1.3" 1`, `curve="X25519MLKEM768",resumed="true",version="1.3" 2`,
		}},
		{"resumed in TLS 1.2", nil, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, 2, []string{
			`curve="X25519",resumed="false",version="1.2" 1`, `curve="X25519",resumed="true",version="1.2" 1`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, counted := countingTLS(t, nil, nil)
			if test.options != nil {
				s.tls.use(newTLS(t, test.options, nil))
			}
			cache := tls.NewLRUClientSessionCache(1)
			for range test.times {
				client, url := s.client("h1+TLS")
				transport, ok := client.Transport.(*http.Transport)
				if !ok {
					t.Fatal("no transport")
				}
				transport.TLSClientConfig.ClientSessionCache = cache
				transport.TLSClientConfig.ServerName = "a.example.com"
				if test.change != nil {
					test.change(transport.TLSClientConfig)
				}
				do(t, client, http.MethodGet, url, nil)
			}
			if got := counted(); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(test.want))) {
				t.Errorf("counted %q, want %q", got, test.want)
			}
		})
	}
}

func TestFailedHandshakesAreCountedByReason(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		options *dynamic.TLSOptions
		fail    func(s *served)
	}{
		{"client_alert", nil, func(s *served) { attempt(s, &tls.Config{ServerName: "a.example.com"}) }},
		{"protocol", &dynamic.TLSOptions{MinVersion: "VersionTLS13"}, func(s *served) {
			attempt(s, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}) //nolint:gosec // It fails.
		}},
		{"protocol", nil, func(s *served) { s.raw("\x16\x03\x01\x00\x04\x01\x00\x00\x00") }},
		{"no_certificate", &dynamic.TLSOptions{SNIStrict: true}, func(s *served) {
			attempt(s, &tls.Config{InsecureSkipVerify: true, ServerName: "x.example.org"}) //nolint:gosec // It fails.
		}},
		{"client_certificate", &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
			ClientAuthType: "RequireAnyClientCert",
		}}, func(s *served) {
			attempt(s, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // It fails.
		}},
		{"closed", nil, func(s *served) {
			conn := s.dial()
			say(s.t, conn, "\x16\x03\x01\x00\xff")
			_ = conn.Close()
		}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			s, counted := countingTLS(t, nil, nil)
			if test.options != nil {
				s.tls.use(newTLS(t, test.options, certificate.NewTickets()))
			}
			test.fail(s)
			s.logged("TLS handshake")
			if got, want := counted(), []string{`reason="` + test.reason + `" 1`}; !slices.Equal(got, want) {
				t.Errorf("counted %q, want %q", got, want)
			}
		})
	}
}

// TestFailedHellosAreCounted counts a ClientHello that is read for TCP routers as the handshake that it would have
// begun.
func TestFailedHellosAreCounted(t *testing.T) {
	t.Parallel()
	many := make([]string, 100)
	for i := range many {
		many[i] = strings.Repeat("n", 200)
	}
	for reason, sent := range map[string]string{
		"timeout":  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"protocol": string(inSmallRecords(helloOf(t, "a", many...), 1)),
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s, counted := countingTLS(t, func(c *static.EntryPoint) {
				if reason == "timeout" {
					c.Transport.RespondingTimeouts.ReadTimeout = static.Duration(1500 * time.Millisecond)
				}
			}, func(deps *entrypoint.Dependencies) {
				deps.Streams = choice{tcp.NeedsHello, func(tcp.Stage, *rule.Connection) tcp.Stream { return &lines{} }}
			})
			conn := s.dial()
			_, _ = io.WriteString(conn, sent) // It is closed before all was read.
			s.logged("connection refused web 127.0.0.1 ClientHello: ")
			if got, want := counted(), []string{`reason="` + reason + `" 1`}; !slices.Equal(got, want) {
				t.Errorf("counted %q, want %q", got, want)
			}
		})
	}
}

// attempt makes a handshake that is expected to fail.
func attempt(s *served, config *tls.Config) {
	s.t.Helper()
	conn := tls.Client(s.dial(), config)
	if err := conn.HandshakeContext(s.t.Context()); err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(timeout))
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			s.t.Error("the handshake has succeeded")
		}
	}
	_ = conn.Close()
}
