package headers

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// hostCase is one request, and whether its host is allowed.
type hostCase struct {
	name   string
	config dynamic.Headers
	host   string
	header http.Header
	tls    bool
	want   bool
}

func TestAllowedHosts(t *testing.T) {
	hosts := dynamic.Headers{AllowedHosts: []string{
		"Example.com", "other.example:8443", "[::1]", "*.wild.example",
		"d.example", "e.example", "f.example:1",
	}}
	trusted, untrusted := hosts, hosts
	trusted.HostsProxyHeaders = []string{"x-forwarded-host", "X-Forwarded-Server"}
	untrusted.HostsProxyHeaders = []string{"X-Original-Host"}
	proxied := hosts
	proxied.SSLProxyHeaders = map[string]string{"X-Forwarded-Proto": "https"}
	replaced := hosts
	replaced.CustomRequestHeaders = map[string]string{"Host": "example.com", "X-Forwarded-Host": "example.com"}
	for _, test := range []hostCase{
		{name: "listed", config: hosts, host: "example.com", want: true},
		{name: "case", config: hosts, host: "EXAMPLE.com", want: true},
		{name: "trailing dot", config: hosts, host: "example.com.", want: true},
		{name: "the scheme's own port", config: hosts, host: "example.com:80", want: true},
		{name: "the other scheme's port", config: hosts, host: "example.com:443"},
		{name: "the scheme's own port, encrypted", config: hosts, host: "example.com:443", tls: true, want: true},
		{name: "the other scheme's port, encrypted", config: hosts, host: "example.com:80", tls: true},
		{
			name: "the scheme's own port, decrypted before", config: proxied, host: "example.com:443",
			header: http.Header{"X-Forwarded-Proto": {"https"}}, want: true,
		},
		{name: "other port", config: hosts, host: "example.com:8443"},
		{name: "listed port", config: hosts, host: "other.example:8443", want: true},
		{name: "without the listed port", config: hosts, host: "other.example"},
		{name: "IPv6", config: hosts, host: "[0:0::1]", want: true},
		{name: "one of many", config: hosts, host: "f.example:1", want: true},
		{name: "one of many, without its port", config: hosts, host: "f.example"},
		{name: "IPv6 with the scheme's own port", config: hosts, host: "[::1]:80", want: true},
		{name: "one of many", config: hosts, host: "f.example:1", want: true},
		{name: "one of many, without its port", config: hosts, host: "f.example"},
		{name: "IPv6 without brackets", config: hosts, host: "::1"},
		{name: "other host", config: hosts, host: "evil.example"},
		{name: "longer host", config: hosts, host: "example.com.evil.example"},
		{name: "subdomain", config: hosts, host: "www.example.com"},
		{name: "no wildcard", config: hosts, host: "a.wild.example"},
		{name: "wildcard as it is written", config: hosts, host: "*.wild.example"},
		{name: "none", config: hosts},
		{name: "userinfo", config: hosts, host: "evil.example@example.com"},
		{name: "two hosts", config: hosts, host: "example.com,evil.example"},
		{name: "path", config: hosts, host: "example.com/evil"},
		{name: "bad port", config: hosts, host: "example.com:evil"},
		{
			name: "forwarded header that is not configured", config: hosts, host: "evil.example",
			header: http.Header{"X-Forwarded-Host": {"example.com"}},
		},

		{
			name: "trusted", config: trusted, host: "inner", header: http.Header{"X-Forwarded-Host": {"example.com"}},
			want: true,
		},
		{
			name: "trusted, other host", config: trusted, host: "example.com",
			header: http.Header{"X-Forwarded-Host": {"evil.example"}},
		},
		{name: "trusted, absent", config: trusted, host: "example.com", want: true},
		{
			name: "trusted, empty", config: trusted, host: "example.com", header: http.Header{"X-Forwarded-Host": {""}},
			want: true,
		},
		{name: "trusted, second", config: trusted, host: "inner", header: http.Header{
			"X-Forwarded-Host":   {""},
			"X-Forwarded-Server": {"example.com"},
		}, want: true},
		{
			name: "trusted, the first counts", config: trusted, host: "example.com",
			header: http.Header{"X-Forwarded-Host": {"evil.example"}, "X-Forwarded-Server": {"example.com"}},
		},
		{
			name: "trusted, twice", config: trusted, host: "example.com",
			header: http.Header{"X-Forwarded-Host": {"example.com", "evil.example"}},
		},
		{
			name: "trusted, list", config: trusted, host: "example.com",
			header: http.Header{"X-Forwarded-Host": {"example.com, evil.example"}},
		},
		{
			name: "trusted, alias", config: trusted, host: "evil.example",
			header: http.Header{"X_Forwarded_Host": {"example.com"}},
		},

		{
			name: "untrusted, both listed", config: untrusted, host: "example.com",
			header: http.Header{"X-Original-Host": {"[::1]"}}, want: true,
		},
		{
			name: "untrusted, forged", config: untrusted, host: "evil.example",
			header: http.Header{"X-Original-Host": {"example.com"}},
		},
		{
			name: "untrusted, other host", config: untrusted, host: "example.com",
			header: http.Header{"X-Original-Host": {"evil.example"}},
		},
		{name: "untrusted, absent", config: untrusted, host: "example.com", want: true},

		{name: "the client's Host counts", config: replaced, host: "evil.example"},
		{
			name: "development", config: dynamic.Headers{AllowedHosts: hosts.AllowedHosts, IsDevelopment: true},
			host: "evil.example", want: true,
		},
	} {
		for _, line := range []string{"GET /", "OPTIONS /"} {
			test.check(t, middlewaretest.Request(t, line))
		}
	}
}

func (c hostCase) check(t *testing.T, r *http.Request) {
	t.Helper()
	r.Host = c.host
	if c.header != nil {
		r.Header = c.header.Clone()
	}
	if c.tls {
		r.TLS = new(tls.ConnectionState)
	}
	record := new(telemetry.Record)
	answer, asked := ask(t, build(t, c.config), r.WithContext(telemetry.WithRecord(t.Context(), record)), nil)
	if asked != c.want {
		t.Errorf("%s: service got the request: %v", c.name, asked)
	}
	if !c.want && (answer.StatusCode != http.StatusInternalServerError || !strings.Contains(record.Reason,
		"allowedHosts")) {
		t.Errorf("%s: status %d, reason %q", c.name, answer.StatusCode, record.Reason)
	}
}

// TestPreflightForAnotherHost checks that preflight requests for a disallowed host are not answered.
func TestPreflightForAnotherHost(t *testing.T) {
	step := build(t, dynamic.Headers{AllowedHosts: []string{"example.com"}, AccessControlAllowOriginList: []string{"*"}})
	for host, want := range map[string]int{"example.com": http.StatusOK, "evil.example": http.StatusInternalServerError} {
		r := middlewaretest.Request(t, "OPTIONS /", preflight("https://a.example")[1:]...)
		r.Host = host
		answer, asked := ask(t, step, r, nil)
		if answer.StatusCode != want || asked || (answer.Header[allowOrigin] != nil) != (want == http.StatusOK) {
			t.Errorf("%s: status %d, headers %q", host, answer.StatusCode, answer.Header)
		}
	}
}
