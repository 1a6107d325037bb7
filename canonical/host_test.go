package canonical

import (
	"strings"
	"testing"
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
		{hostport: ":80", bad: true, port: "80"},
		{hostport: "a:b", bad: true},
		{hostport: "a:65536", bad: true},
		{hostport: "a:+80", bad: true},
		{hostport: "a:80:80", bad: true},
		{hostport: "::1", bad: true},
		{hostport: "[::1", bad: true},
		{hostport: "[::1]80", bad: true},
		{hostport: "[::1]:x", bad: true},
		{hostport: "[192.0.2.1]", bad: true},
		{hostport: "[fe80::1%eth0]:80", bad: true, port: "80"},
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

func FuzzHost(f *testing.F) {
	for _, seed := range []string{"Example.com.:80", "[::1]:80", "a..b", "u@h", "[fe80::1%25eth0]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, hostport string) {
		host, ok := Host(hostport)
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
