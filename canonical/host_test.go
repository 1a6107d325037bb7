package canonical

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

func TestHost(t *testing.T) {
	tests := []struct {
		hostport, host, port string
		bad                  bool
	}{
		{hostport: "example.com", host: "example.com"},
		{hostport: "EXAMPLE.com.:8080", host: "example.com", port: "8080"},
		{hostport: "example.com:", host: "example.com"},
		{hostport: "my_service-1:80", host: "my_service-1", port: "80"},
		{hostport: "xn--bcher-kva.example", host: "xn--bcher-kva.example"},
		{hostport: "192.0.2.1:443", host: "192.0.2.1", port: "443"},
		{hostport: "[::1]", host: "::1"},
		{hostport: "[2001:DB8:0::1]:65535", host: "2001:db8::1", port: "65535"},
		{hostport: "[::ffff:192.0.2.1]:1", host: "::ffff:192.0.2.1", port: "1"},
		{hostport: "", bad: true},
		{hostport: ".", bad: true},
		{hostport: "..", bad: true},
		{hostport: "a..b", bad: true},
		{hostport: ".a", bad: true},
		{hostport: "a..", bad: true},
		{hostport: ":80", bad: true},
		{hostport: "a:b", bad: true},
		{hostport: "a:65536", bad: true},
		{hostport: "a:+80", bad: true},
		{hostport: "a:80:80", bad: true},
		{hostport: "::1", bad: true},
		{hostport: "[::1", bad: true},
		{hostport: "[::1]80", bad: true},
		{hostport: "[::1]:x", bad: true},
		{hostport: "[192.0.2.1]", bad: true},
		{hostport: "[fe80::1%eth0]:80", bad: true},
		{hostport: "[]", bad: true},
		{hostport: "user@example.com", bad: true},
		{hostport: "user:1@example.com", bad: true},
		{hostport: "example.com/x", bad: true},
		{hostport: "a b", bad: true},
		{hostport: "a,b", bad: true},
		{hostport: "a%2eb", bad: true},
		{hostport: "a\x00", bad: true},
		{hostport: "bücher.example", bad: true},
		{hostport: "*.example.com", bad: true},
	}
	for _, test := range tests {
		host, ok := Host(test.hostport)
		if host != test.host || ok == test.bad {
			t.Errorf("Host(%q) = %q, %v, want %q, %v", test.hostport, host, ok, test.host, !test.bad)
		}
		if port := Port(test.hostport); port != test.port {
			t.Errorf("Port(%q) = %q, want %q", test.hostport, port, test.port)
		}
	}
}

func TestValidAuthority(t *testing.T) {
	valid := []string{
		"a", "any.test", "ANY.Test", "any.test.", "any..test", "any_one.test", "-", "any.test:", "any.test:0", "any.test:80",
		"any.test:00080",
		"any.test:65535", "192.0.2.1", "192.0.2.1:80", "999.1", "any%2etest", "%41:80", "!$&'()*+,;=~", "*.any.test", "[::]",
		"[::1]", "[::1]:",
		"[::1]:80", "[2001:DB8::1]", "[::ffff:192.0.2.1]:1", "[1:2:3:4:5:6:7:8]",
	}
	for _, authority := range valid {
		if !ValidAuthority(authority) {
			t.Errorf("%q is refused", authority)
		}
		if allocated := testing.AllocsPerRun(10, func() { ValidAuthority(authority) }); allocated > 0 {
			t.Errorf("%q costs %v allocations", authority, allocated)
		}
	}
	invalid := []string{
		"", ":", ":80", "any.test:http", "any.test:80:80", "any.test::80", "any.test:-1", "any.test:+1", "any.test:65536",
		"any.test:99999",
		"any.test:18446744073709551696", "any.test: 80", "any.test:8\u0660", "any%zztest", "any%2", "%", "any%", "a]b", "a[b",
		"a[::1]", "[", "]", "[]",
		"[]:80", "[::1", "[::1:80", "::1", "::1]", "[::1]x", "[::1]80", "[::1]:x", "[::1]]", "[[::1]]", "[::1%25eth0]",
		"[::1%eth0]", "[::1%]",
		"[192.0.2.1]", "[v1.a]", "[a]", "[:::]", "[1:2:3:4:5:6:7:8:9]", "[12345::]", "[::1.2.3.256]", "user@any.test",
		"@any.test", "any.test/a",
		"any.test?a", "any.test#a", "any.test\\a", "any test", " any.test", "any.test ", "any.test\x00", "any.test\x7f",
		"\u00e4ny.test", "any.test,\"",
		"<any.test>", "a|b", "a^b", "a`b", "{a}", "any.test\xff",
	}
	for _, authority := range invalid {
		if ValidAuthority(authority) {
			t.Errorf("%q is taken for an authority", authority)
		}
		if host, ok := Host(authority); ok {
			t.Errorf("%q has the host %q", authority, host)
		}
	}
}

// FuzzValidAuthority compares with net/url, net/netip and x/net. net/url takes more for a name: other letters, some
// characters that delimit, and any number for a port, and it decodes; what it decodes is left out.
func FuzzValidAuthority(f *testing.F) {
	for _, seed := range []string{
		"any.test", "any.test:", "any.test:080", "any.test:65536", "[2001:db8::1]:80", "[::1%25eth0]", "[::ffff:1.2.3.4]",
		":80", "a:80:80", "a[::1]", "u@h", "a%2eb", "a%zz", "\u00e4", "<a>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, authority string) {
		got := ValidAuthority(authority)
		if got && !httpguts.ValidHostHeader(authority) {
			t.Fatalf("x/net finds a character in %q that no host has", authority)
		}
		if inner, opened := strings.CutPrefix(authority, "["); opened {
			if inner, closed := strings.CutSuffix(inner, "]"); closed {
				addr, err := netip.ParseAddr(inner)
				if want := err == nil && addr.Is6() && addr.Zone() == ""; got != want {
					t.Fatalf("ValidAuthority(%q) = %v, and net/netip reads %v, %v", authority, got, addr, err)
				}
			}
		}
		if strings.Contains(authority, "%") {
			return
		}
		u, err := url.Parse("http://" + authority + "/")
		want := err == nil && u.Host == authority && u.Hostname() != "" && !strings.ContainsAny(authority, `<>"`) &&
			strings.Contains(authority, "[") == strings.Contains(authority, "]") && !strings.ContainsFunc(authority,
			func(r rune) bool {
				return r >= utf8.RuneSelf
			})
		if want && u.Port() != "" {
			_, err := strconv.ParseUint(u.Port(), 10, 16)
			want = err == nil
		}
		if got != want {
			t.Fatalf("ValidAuthority(%q) = %v, and net/url reads %+v, %v", authority, got, u, err)
		}
	})
}

func FuzzHost(f *testing.F) {
	for _, seed := range []string{"Example.com.:80", "[::1]:80", "a..b", "u@h", "[fe80::1%25eth0]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, hostport string) {
		host, ok := Host(hostport)
		if ok && !ValidAuthority(hostport) {
			t.Fatalf("Host(%q) = %q of what is no authority", hostport, host)
		}
		if !ok {
			if host != "" {
				t.Fatalf("Host(%q) is refused and %q", hostport, host)
			}
			return
		}
		again := host
		if strings.Contains(host, ":") {
			again = "[" + host + "]"
		}
		if got, ok := Host(again + ":80"); !ok || got != host {
			t.Fatalf("Host(%q) = %q, and of that %q, %v", hostport, host, got, ok)
		}
		if host != strings.ToLower(host) || strings.ContainsAny(host, "/@ []%\\") || strings.HasSuffix(host, ".") {
			t.Fatalf("Host(%q) = %q is not canonical", hostport, host)
		}
	})
}

func BenchmarkValidAuthority(b *testing.B) {
	for _, authority := range []string{"example.com", "Example.com:8080", "[::1]:80"} {
		b.Run(authority, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = ValidAuthority(authority)
			}
		})
	}
}

func BenchmarkHost(b *testing.B) {
	for _, hostport := range []string{"example.com", "Example.com:8080", "[::1]:80"} {
		b.Run(hostport, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Host(hostport)
			}
		})
	}
}
