package loadbalancer

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

func TestNewServerSpec(t *testing.T) {
	four, zero, negative := 4, 0, -1
	for _, test := range []struct {
		server dynamic.Server
		want   ServerSpec
		err    string
	}{
		{server: dynamic.Server{URL: "http://192.0.2.1:8080"}, want: inline("192.0.2.1:8080", 1)},
		{
			server: dynamic.Server{URL: "http://192.0.2.1", Weight: &four},
			want:   ServerSpec{Address: netip.MustParseAddrPort("192.0.2.1:80"), Scheme: "http", Host: "192.0.2.1", Weight: 4},
		},
		{
			server: dynamic.Server{URL: "HTTPS://[2001:db8::1]/ignored", Weight: &zero},
			want:   ServerSpec{Address: netip.MustParseAddrPort("[2001:db8::1]:443"), Scheme: "https", Host: "[2001:db8::1]"},
		},
		{
			server: dynamic.Server{URL: "h2c://Db.Local", PreservePath: true},
			want:   ServerSpec{SetKey: "dns/db.local:80", Scheme: "h2c", Host: "Db.Local", Weight: 1},
		},
		{
			server: dynamic.Server{URL: "http://db/a%2Fb/", PreservePath: true},
			want:   ServerSpec{SetKey: "dns/db:80", Scheme: "http", Host: "db", Path: "/a%2Fb/", Weight: 1},
		},
		{server: dynamic.Server{URL: ""}, err: "has no host"},
		{server: dynamic.Server{URL: "http://"}, err: "has no host"},
		{server: dynamic.Server{URL: "192.0.2.1:80"}, err: "the URL has no scheme: write http://192.0.2.1:80"},
		{server: dynamic.Server{URL: "db.local:8080"}, err: "the URL has no scheme: write http://db.local:8080"},
		{server: dynamic.Server{URL: "db"}, err: "the URL has no scheme: write http://db"},
		{server: dynamic.Server{URL: "http:/db"}, err: "has no host"},
		{server: dynamic.Server{URL: "ftp://db"}, err: `"ftp"`},
		{server: dynamic.Server{URL: "http://db:http"}, err: "port"},
		{server: dynamic.Server{URL: "http://db:0"}, err: "1 to 65535"},
		{server: dynamic.Server{URL: "http://db:65536"}, err: "1 to 65535"},
		{server: dynamic.Server{URL: "http://user:secret@db"}, err: "user information"},
		{server: dynamic.Server{URL: "http://user:secret@d b"}, err: "can't be read"},
		{server: dynamic.Server{URL: "http://user:secret/x@d"}, err: "can't be read"},
		{server: dynamic.Server{URL: "http://d:eighty"}, err: `the URL can't be read: invalid port ":eighty" after host`},
		{server: dynamic.Server{URL: "http://db", Weight: &negative}, err: "negative"},
		{server: dynamic.Server{URL: "http://db/a/../b", PreservePath: true}, err: "dot segment"},
	} {
		got, err := NewServerSpec(test.server)
		if test.err == "" {
			test.want.URL = test.server.URL
		}
		switch {
		case test.err == "" && err != nil:
			t.Errorf("%s: %v", test.server.URL, err)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: got error %v, want one with %q", test.server.URL, err, test.err)
		case got != test.want:
			t.Errorf("%s: got %+v, want %+v", test.server.URL, got, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", test.server.URL, err)
		}
	}
}

func TestNewTCPServerSpec(t *testing.T) {
	four, negative := 4, -1
	for _, test := range []struct {
		server dynamic.TCPServer
		want   ServerSpec
		err    string
	}{
		{
			server: dynamic.TCPServer{Address: "192.0.2.1:5432"},
			want: ServerSpec{
				Address: netip.MustParseAddrPort("192.0.2.1:5432"), Scheme: "tcp", Host: "192.0.2.1:5432", Weight: 1,
			},
		},
		{
			server: dynamic.TCPServer{Address: "[2001:db8::1]:1", TLS: true, Weight: &four},
			want: ServerSpec{
				Address: netip.MustParseAddrPort("[2001:db8::1]:1"), Scheme: "tls", Host: "[2001:db8::1]:1", Weight: 4,
			},
		},
		{
			server: dynamic.TCPServer{Address: "Db.Local:65535", TLS: true},
			want:   ServerSpec{SetKey: "dns/db.local:65535", Scheme: "tls", Host: "Db.Local:65535", Weight: 1},
		},
		{server: dynamic.TCPServer{Address: ""}, err: `server "": the address is not host:port`},
		{server: dynamic.TCPServer{Address: ":5432"}, err: "is not host:port"},
		{server: dynamic.TCPServer{Address: "db"}, err: "is not host:port"},
		{server: dynamic.TCPServer{Address: "2001:db8::1"}, err: "is not host:port"},
		{server: dynamic.TCPServer{Address: "tcp://db:1"}, err: "is not host:port"},
		{server: dynamic.TCPServer{Address: "db:"}, err: "1 to 65535"},
		{server: dynamic.TCPServer{Address: "db:0"}, err: "1 to 65535"},
		{server: dynamic.TCPServer{Address: "db:65536"}, err: "1 to 65535"},
		{server: dynamic.TCPServer{Address: "db:postgresql"}, err: "1 to 65535"},
		{server: dynamic.TCPServer{Address: "db:1", Weight: &negative}, err: "negative"},
	} {
		got, err := NewTCPServerSpec(test.server)
		switch {
		case test.err == "" && err != nil:
			t.Errorf("%s: %v", test.server.Address, err)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: got error %v, want one with %q", test.server.Address, err, test.err)
		case got != test.want:
			t.Errorf("%s: got %+v, want %+v", test.server.Address, got, test.want)
		}
	}
}

func FuzzNewServerSpec(f *testing.F) {
	for _, location := range []string{
		"http://192.0.2.1:80", "h2c://[2001:db8::1%25eth0]", "https://db/a%2Fb",
		"http://:80", "HTTP://A.B.:1/../",
	} {
		f.Add(location, true)
	}
	f.Fuzz(func(t *testing.T, location string, preserve bool) {
		spec, err := NewServerSpec(dynamic.Server{URL: location, PreservePath: preserve})
		if err != nil {
			return
		}
		if spec.Address.IsValid() == (spec.SetKey != "") {
			t.Errorf("%q is neither one address nor one name: %+v", location, spec)
		}
		if spec.Host == "" || spec.Weight != 1 || strings.HasPrefix(spec.Path, "//") || !preserve && spec.Path != "" {
			t.Errorf("%q: %+v", location, spec)
		}
	})
}
