package static

import (
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for _, test := range []struct {
		text string
		want Address
		err  string
	}{
		{text: ":80", want: Address{Port: 80, Network: "tcp"}},
		{text: ":0", want: Address{Network: "tcp"}},
		{text: "127.0.0.1:65535/tcp", want: Address{Host: "127.0.0.1", Port: 65535, Network: "tcp"}},
		{text: "[::1]:53/UDP", want: Address{Host: "::1", Port: 53, Network: "udp"}},
		{text: "[fe80::1%lo]:80", want: Address{Host: "fe80::1%lo", Port: 80, Network: "tcp"}},
		{text: "localhost:80", want: Address{Host: "localhost", Port: 80, Network: "tcp"}},
		{text: "", err: "the address is empty, expected [host]:port[/tcp|/udp]"},
		{text: "80", err: `no port in "80", expected [host]:port[/tcp|/udp]`},
		{text: "::1:80", err: `no port in "::1:80", expected [host]:port[/tcp|/udp]`},
		{text: ":80/sctp", err: `unknown network "sctp", expected [host]:port[/tcp|/udp]`},
		{text: ":65536", err: `bad port "65536", expected a number from 0 to 65535`},
		{text: ":http", err: `bad port "http", expected a number from 0 to 65535`},
		{text: ":", err: `bad port "", expected a number from 0 to 65535`},
		{text: "[::g]:80", err: `bad IPv6 address "::g"`},
		{text: "a b:80", err: `bad host "a b"`},
	} {
		got, err := ParseAddress(test.text)
		message := ""
		if err != nil {
			message = err.Error()
		}
		if got != test.want || message != test.err {
			t.Errorf("%q: got %+v and %q, want %+v and %q", test.text, got, message, test.want, test.err)
		}
		if err == nil {
			if again, err := ParseAddress(got.String()); err != nil || again != got {
				t.Errorf("%q: its text %q is another address: %+v, %v", test.text, got, again, err)
			}
		}
	}
}

// TestSameAddress proves that two listeners on one address are found before anything listens, and that what may share
// one is not.
func TestSameAddress(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{
			name: "an entrypoint that exists by itself",
			args: []string{"--entryPoints.a.address=:8080", "--ping"},
			want: `flag --entryPoints.a.address: option entryPoints.a.address: the entrypoint "traefik" listens on :8080 too`,
		},
		{
			name: "two spellings of all addresses",
			args: []string{"--entryPoints.a.address=[::]:80/tcp", "--entryPoints.b.address=:80"},
			want: `flag --entryPoints.b.address: option entryPoints.b.address: the entrypoint "a" listens on [::]:80/tcp too`,
		},
		{name: "reusePort on both", args: []string{
			"--entryPoints.a.address=:80", "--entryPoints.a.reusePort",
			"--entryPoints.b.address=:80", "--entryPoints.b.reusePort",
		}},
		{name: "tcp and udp", args: []string{"--entryPoints.a.address=:80", "--entryPoints.b.address=:80/udp"}},
		{
			name: "udp and HTTP/3",
			args: []string{"--entryPoints.a.address=:80", "--entryPoints.a.http3", "--entryPoints.b.address=:80/udp"},
			want: `flag --entryPoints.b.address: option entryPoints.b.address: the entrypoint "a" listens on :80 too`,
		},
		{name: "udp and HTTP/3 that is withdrawn", args: []string{
			"--entryPoints.a.address=:80", "--entryPoints.a.http3.withdrawn", "--entryPoints.b.address=:80/udp",
		}},
		{
			name: "HTTP/3 of a forward proxy",
			args: []string{"--entryPoints.a.address=127.0.0.1:80", "--entryPoints.a.http3", "--entryPoints.a.forwardProxy"},
			want: `flag --entryPoints.a.http3: option entryPoints.a.http3: a forward proxy serves no HTTP/3`,
		},
		{
			name: "qlog without a directory",
			args: []string{"--entryPoints.a.address=:80", "--entryPoints.a.http3.qlog.maxFiles=1"},
			want: `flag --entryPoints.a.http3.qlog.maxFiles: option entryPoints.a.http3.qlog.directory: is missing`,
		},
		{name: "a port that the system chooses", args: []string{"--entryPoints.a.address=:0", "--entryPoints.b.address=:0"}},
	} {
		_, findings := load(t, "", nil, test.args)
		var got []string
		for _, finding := range findings {
			if finding.Severity == Error {
				got = append(got, finding.String())
			}
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
