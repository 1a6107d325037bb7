package forwarded_test

import (
	"bufio"
	"crypto/tls"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/forwarded"
)

// spellings returns a header name and the aliases that a server behind the proxy may take for it.
func spellings(name string) []string {
	under := strings.ReplaceAll(name, "-", "_")
	return []string{
		name, strings.ToLower(name), strings.ToUpper(name),
		under, strings.ToLower(under), strings.ToUpper(under), strings.Replace(name, "-", "_", 1),
		http.CanonicalHeaderKey(under),
	}
}

func TestManagedHeadersOfUntrustedPeers(t *testing.T) {
	peer := netip.MustParseAddr("192.0.2.9")
	for _, name := range forwarded.Managed() {
		for _, spelling := range spellings(name) {
			if !forwarded.IsManaged(spelling) {
				t.Errorf("%s is not managed", spelling)
			}
			r := read(t, "GET / HTTP/1.1\r\nHost: h")
			r.Header[spelling] = []string{"forged", "forged twice"}
			r.Header["Connection"] = []string{"close, " + spelling}
			new(forwarded.Policy).Apply(r, peer)
			for given, values := range r.Header {
				if strings.Contains(strings.Join(values, " "), "forged") {
					t.Errorf("%s of an untrusted peer passes as %s: %q", spelling, given, values)
				}
			}
		}
	}
	for _, name := range []string{
		"", "X", "X-Schema", "X-Forwarded", "X-Forwarded-Fort",
		"X-Forwarded-Tls-Client-Cert-Infos", "Y-Forwarded-For", "X-Forwarded-Hosts",
	} {
		if forwarded.IsManaged(name) {
			t.Errorf("%s is managed", name)
		}
	}
}

func TestManagedHeadersOfTrustedPeers(t *testing.T) {
	trust, err := forwarded.NewTrust([]string{"192.0.2.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	forwarding := forwarded.Policy{Trusted: trust, Server: "edge"}
	peer := netip.MustParseAddr("192.0.2.9")
	for _, name := range forwarded.Managed() {
		if name == forwarded.XForwardedServer {
			continue
		}
		for _, spelling := range spellings(name) {
			r := read(t, "GET / HTTP/1.1\r\nHost: h")
			r.Header[name] = []string{"given"}
			if spelling != name {
				r.Header[spelling] = []string{"forged"}
			}
			r.Header["Connection"] = []string{spelling}
			forwarding.Apply(r, peer)
			if got := r.Header[name]; len(got) != 1 || got[0] != "given" {
				t.Errorf("%s of a trusted peer is %q with Connection: %s", name, got, spelling)
			}
			if _, ok := r.Header[spelling]; ok && spelling != name {
				t.Errorf("alias %s of a trusted peer passes", spelling)
			}
		}
	}
}

func TestForwardingSets(t *testing.T) {
	trust, err := forwarded.NewTrust([]string{"192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	websocket := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	tests := []struct {
		name       string
		forwarding forwarded.Policy
		host, peer string
		encrypted  bool
		in, want   http.Header
	}{
		{
			name: "plain", host: "example.com", peer: "192.0.2.9",
			want: http.Header{
				forwarded.XRealIP: {"192.0.2.9"}, forwarded.XForwardedProto: {"http"}, forwarded.XForwardedPort: {"80"},
				forwarded.XForwardedHost: {"example.com"},
			},
		},
		{
			name: "encrypted with port and server", forwarding: forwarded.Policy{Server: "edge"}, host: "example.com:8443",
			peer: "2001:db8::1", encrypted: true,
			want: http.Header{
				forwarded.XRealIP: {"2001:db8::1"}, forwarded.XForwardedProto: {"https"}, forwarded.XForwardedPort: {"8443"},
				forwarded.XForwardedHost: {"example.com:8443"}, forwarded.XForwardedServer: {"edge"},
			},
		},
		{
			name: "websocket", host: "[::1]", peer: "192.0.2.9", encrypted: true, in: websocket,
			want: http.Header{
				forwarded.XRealIP: {"192.0.2.9"}, forwarded.XForwardedProto: {"wss"}, forwarded.XForwardedPort: {"443"},
				forwarded.XForwardedHost: {"[::1]"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			},
		},
		{
			name: "unknown peer and no host",
			in:   http.Header{forwarded.XRealIP: {"203.0.113.1"}, forwarded.XForwardedFor: {"203.0.113.1"}},
			want: http.Header{forwarded.XForwardedProto: {"http"}, forwarded.XForwardedPort: {"80"}},
		},
		{
			name: "trusted peer", host: "example.com", peer: "192.0.2.1",
			forwarding: forwarded.Policy{Trusted: trust, Server: "edge", SchemeHeaders: true},
			in: http.Header{
				forwarded.XRealIP: {"203.0.113.1"}, forwarded.XForwardedProto: {"https"},
				forwarded.XForwardedHost:   {"public.example"},
				forwarded.XForwardedServer: {"front"},
				forwarded.XForwardedFor:    {"203.0.113.1", "203.0.113.2, 203.0.113.3"}, forwarded.XForwardedPrefix: {"/outer"},
			},
			want: http.Header{
				forwarded.XRealIP: {"203.0.113.1"}, forwarded.XForwardedProto: {"https"},
				forwarded.XForwardedHost:   {"public.example"},
				forwarded.XForwardedServer: {"edge"},
				forwarded.XForwardedFor:    {"203.0.113.1, 203.0.113.2, 203.0.113.3"}, forwarded.XForwardedPrefix: {"/outer"},
				forwarded.XForwardedPort: {"443"}, forwarded.XForwardedScheme: {"https"}, forwarded.XScheme: {"https"},
			},
		},
		{
			name: "insecure trusts every peer", forwarding: forwarded.Policy{Insecure: true}, host: "h", peer: "198.51.100.1",
			in: http.Header{forwarded.XRealIP: {"203.0.113.1"}, forwarded.XForwardedProto: {""}, "X_real_ip": {"forged"}},
			want: http.Header{
				forwarded.XRealIP: {"203.0.113.1"}, forwarded.XForwardedProto: {"http"}, forwarded.XForwardedPort: {"80"},
				forwarded.XForwardedHost: {"h"},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &http.Request{Host: test.host, Header: test.in.Clone()}
			if r.Header == nil {
				r.Header = http.Header{}
			}
			if test.encrypted {
				r.TLS = new(tls.ConnectionState)
			}
			peer, _ := netip.ParseAddr(test.peer)
			test.forwarding.Apply(r, peer)
			if diff := cmp.Diff(test.want, r.Header); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetHeadersDoNotShareCapacity(t *testing.T) {
	r := read(t, "GET / HTTP/1.1\r\nHost: h")
	new(forwarded.Policy).Apply(r, netip.MustParseAddr("192.0.2.9"))
	r.Header.Add(forwarded.XRealIP, "appended")
	if got := r.Header.Get(forwarded.XForwardedProto); got != "http" {
		t.Errorf("appending to X-Real-Ip changed X-Forwarded-Proto to %q", got)
	}
}

func TestRemoveHopByHop(t *testing.T) {
	tests := []struct {
		name     string
		keep     []string
		in, want http.Header
	}{
		{name: "nothing to do", in: http.Header{"Accept": {"*/*"}}, want: http.Header{"Accept": {"*/*"}}},
		{
			name: "fixed list",
			in: http.Header{
				"Connection": {"close"}, "Keep-Alive": {"timeout=5"}, "Proxy-Connection": {"x"}, "Proxy-Authenticate": {"x"},
				"Proxy-Authorization": {"x"},
				"Te":                  {"gzip"}, "Trailer": {"X"}, "Transfer-Encoding": {"chunked"}, "Upgrade": {"websocket"},
				"Http2-Settings": {"x"}, "Accept": {"a"},
			},
			want: http.Header{"Accept": {"a"}},
		},
		{
			name: "listed", in: http.Header{
				"Connection": {"X-One, x-two", " X-Three ,,"}, "X-One": {"1"}, "X-Two": {"2"},
				"X-Three": {"3"}, "X-Four": {"4"},
			},
			want: http.Header{"X-Four": {"4"}},
		},
		{
			name: "managed headers can't be listed", in: http.Header{
				"Connection":      {"x-forwarded-for, X_Real_Ip, X-Real-Ip"},
				"X-Forwarded-For": {"1"}, "X-Real-Ip": {"2"},
			},
			want: http.Header{"X-Forwarded-For": {"1"}, "X-Real-Ip": {"2"}},
		},
		{
			name: "kept", keep: []string{"X-One"}, in: http.Header{
				"Connection": {"x-one, x-one, x-two, close"}, "X-One": {"1"},
				"X-Two": {"2"},
			},
			want: http.Header{"Connection": {"X-One"}, "X-One": {"1"}},
		},
		{name: "kept but absent", keep: []string{"X-One"}, in: http.Header{"Connection": {"x-one"}}, want: http.Header{}},
		{
			name: "upgrade", keep: []string{"X-One"}, in: http.Header{
				"Connection": {"keep-alive, uPgrade, X-One"},
				"Upgrade":    {"websocket"}, "X-One": {"1"},
			},
			want: http.Header{"Connection": {"X-One, Upgrade"}, "Upgrade": {"websocket"}, "X-One": {"1"}},
		},
		{name: "upgrade without Connection", in: http.Header{"Upgrade": {"websocket"}}, want: http.Header{}},
		{name: "Connection without upgrade", in: http.Header{"Connection": {"Upgrade"}}, want: http.Header{}},
		{name: "h2c", in: http.Header{
			"Connection": {"Upgrade, HTTP2-Settings"}, "Upgrade": {"h2c"},
			"Http2-Settings": {"AAMAAABk"},
		}, want: http.Header{}},
		{
			name: "h2c and another", in: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"H2C, websocket", "foo/2"}},
			want: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket, foo/2"}},
		},
		{
			name: "trailers", in: http.Header{"Connection": {"TE"}, "Te": {"gzip, trailers"}},
			want: http.Header{"Te": {"trailers"}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			forwarded.RemoveHopByHop(test.in, test.keep)
			if diff := cmp.Diff(test.want, test.in); diff != "" {
				t.Fatal(diff)
			}
			forwarded.RemoveHopByHop(test.in, test.keep)
			if diff := cmp.Diff(test.want, test.in); diff != "" {
				t.Errorf("the second call changes something: %s", diff)
			}
		})
	}
}

func TestUpgradeType(t *testing.T) {
	if got := forwarded.UpgradeType(http.Header{
		"Connection": {"keep-alive, Upgrade"},
		"Upgrade":    {"WebSocket"},
	}); got != "WebSocket" {
		t.Errorf("UpgradeType is %q", got)
	}
	if got := forwarded.UpgradeType(http.Header{"Upgrade": {"WebSocket"}}); got != "" {
		t.Errorf("UpgradeType is %q without Connection", got)
	}
}

func TestKeepForwardedFor(t *testing.T) {
	if forwarded.KeepsForwardedFor(t.Context()) || !forwarded.KeepsForwardedFor(forwarded.KeepForwardedFor(t.Context())) {
		t.Error("the context does not say what was put in")
	}
	if forwarded.KeepForwardedFor(t.Context()).Value(forwarded.KeepForwardedForKey()) == nil {
		t.Error("the key finds nothing")
	}
}

func TestRemoveHeader(t *testing.T) {
	h := http.Header{
		"X-Replaced-Path": {"1"}, "X_Replaced_Path": {"2"}, "x-replaced_path": {"3"},
		"X-Replaced-Paths": {"4"},
	}
	forwarded.RemoveAliases(h, "X-Replaced-Path")
	if diff := cmp.Diff(http.Header{"X-Replaced-Path": {"1"}, "X-Replaced-Paths": {"4"}}, h); diff != "" {
		t.Error(diff)
	}
	h["X_replaced_path"] = []string{"5"}
	forwarded.RemoveHeader(h, "X-Replaced-Path")
	if diff := cmp.Diff(http.Header{"X-Replaced-Paths": {"4"}}, h); diff != "" {
		t.Error(diff)
	}
}

func TestRemoveHeaderFromConnection(t *testing.T) {
	for _, test := range []struct{ before, after []string }{
		{[]string{"X-User"}, nil},
		{[]string{"x-user,X-USER , x-User"}, nil},
		{[]string{"Upgrade"}, []string{"Upgrade"}},
		{[]string{"Upgrade, x-user"}, []string{"Upgrade"}},
		{[]string{"X-User", "X-Other, x-user", "X-Users,X_User"}, []string{"X-Other", "X-Users,X_User"}},
		{[]string{"X-Other,X-Users", "y"}, []string{"X-Other,X-Users", "y"}},
		{nil, nil},
	} {
		h := http.Header{"X-User": {"forged"}}
		if test.before != nil {
			h["Connection"] = test.before
		}
		forwarded.RemoveHeader(h, "X-Third", "X-User")
		if !slices.Equal(h["Connection"], test.after) || len(h) > 1 || len(h) == 1 && test.after == nil {
			t.Errorf("Connection %q becomes %v, want %q", test.before, h, test.after)
		}
	}
}

func TestUnderscore(t *testing.T) {
	tests := []struct {
		value string
		ok    bool
		want  http.Header
	}{
		{"", true, http.Header{"A_b": {"1"}, "A-B": {"2"}}},
		{"keep", true, http.Header{"A_b": {"1"}, "A-B": {"2"}}},
		{"delete", true, http.Header{"A-B": {"2"}}},
		{"reject", false, http.Header{"A_b": {"1"}, "A-B": {"2"}}},
	}
	for _, test := range tests {
		underscore, err := forwarded.ParseUnderscore(test.value)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{"A_b": {"1"}, "A-B": {"2"}}
		if ok := underscore.Apply(h); ok != test.ok {
			t.Errorf("%q: Apply is %v", test.value, ok)
		}
		if diff := cmp.Diff(test.want, h); diff != "" {
			t.Errorf("%q: %s", test.value, diff)
		}
		if got := underscore.String(); test.value != "" && got != test.value {
			t.Errorf("String is %q, want %q", got, test.value)
		}
		if !underscore.Apply(http.Header{"A-B": nil}) {
			t.Errorf("%q refuses a request without underscores", test.value)
		}
	}
	if _, err := forwarded.ParseUnderscore("Drop"); err == nil || !strings.Contains(err.Error(), `"Drop"`) {
		t.Errorf("error is %v", err)
	}
}

func browser() http.Header {
	return http.Header{
		"Accept": {"text/html"}, "Accept-Encoding": {"gzip"}, "Accept-Language": {"en"}, "Cache-Control": {"no-cache"},
		"Cookie": {"a=b"},
		"Pragma": {"no-cache"}, "Referer": {"https://example.com"}, "Sec-Ch-Ua": {"x"}, "Sec-Fetch-Dest": {"document"},
		"Sec-Fetch-Mode":            {"navigate"},
		"Upgrade-Insecure-Requests": {"1"}, "User-Agent": {"Mozilla/5.0"},
	}
}

// BenchmarkForwarding trusts its peer, so that the headers of one iteration are those of the next.
func BenchmarkForwarding(b *testing.B) {
	forwarding := forwarded.Policy{Insecure: true, Server: "edge"}
	r := &http.Request{Host: "example.com", Header: browser()}
	peer := netip.MustParseAddr("192.0.2.1")
	b.ReportAllocs()
	for b.Loop() {
		forwarding.Apply(r, peer)
	}
}

func BenchmarkRemoveHopByHop(b *testing.B) {
	h := browser()
	b.ReportAllocs()
	for b.Loop() {
		forwarded.RemoveHopByHop(h, nil)
	}
}

func BenchmarkStripUntrusted(b *testing.B) {
	h := browser()
	b.ReportAllocs()
	for b.Loop() {
		forwarded.StripUntrusted(h)
	}
}

func TestAddHeader(t *testing.T) {
	values := make([]string, 1, 2)
	values[0] = "before"
	h := http.Header{
		"X-Replaced-Path": values, "X_Replaced_Path": {"forged"}, "x-replaced_path": {"forged"},
		"Other": {"stays"},
	}
	forwarded.AddHeader(h, forwarded.XReplacedPath, "added")
	forwarded.AddHeader(h, forwarded.XForwardedPrefix, "first")
	want := http.Header{"X-Replaced-Path": {"before", "added"}, "X-Forwarded-Prefix": {"first"}, "Other": {"stays"}}
	if !cmp.Equal(h, want) {
		t.Errorf("got %v", h)
	}
	if values[:2][1] != "" {
		t.Error("the room behind the values was written to")
	}
}

// read returns a request as a server reads it.
func read(t testing.TB, head string) *http.Request {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n\r\n")))
	if err != nil {
		t.Fatalf("reading %q: %v", head, err)
	}
	return r
}
