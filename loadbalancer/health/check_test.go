package health

import (
	"strings"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
)

// checkOf returns the check with its defaults and some options changed.
func checkOf(t testing.TB, change func(*dynamic.ServerHealthCheck)) Check {
	t.Helper()
	check, err := newCheck(change)
	if err != nil {
		t.Fatal(err)
	}
	return check
}

func newCheck(change func(*dynamic.ServerHealthCheck)) (Check, error) {
	var config dynamic.ServerHealthCheck
	config.SetDefaults()
	if change != nil {
		change(&config)
	}
	return NewCheck(&config)
}

func number(n int) *int { return &n }

func TestNewCheckNamesWhatIsWrong(t *testing.T) {
	zero, negative := ptypes.Duration(0), ptypes.Duration(-time.Second)
	tests := []struct {
		name   string
		change func(*dynamic.ServerHealthCheck)
		says   string
	}{
		{"scheme", func(c *dynamic.ServerHealthCheck) { c.Scheme = "ftp" }, `scheme: "ftp" is none of http, https and h2c`},
		{"mode", func(c *dynamic.ServerHealthCheck) { c.Mode = "tcp" }, `mode: "tcp" is neither http nor grpc`},
		{"path with host", func(c *dynamic.ServerHealthCheck) {
			c.Path = "http://other/health"
		}, `path: is a URL of its own, not a path`},
		{"path of a host", func(c *dynamic.ServerHealthCheck) {
			c.Path = "//other/health"
		}, `path: is a URL of its own, not a path`},
		{"path with scheme", func(c *dynamic.ServerHealthCheck) {
			c.Path = "mailto:x"
		}, `path: is a URL of its own, not a path`},
		{"path with escape", func(c *dynamic.ServerHealthCheck) { c.Path = "/%zz" }, `path: can't be read as a path`},
		{"query with blank", func(c *dynamic.ServerHealthCheck) {
			c.Path = "/?a b"
		}, `path: has a character that no request may have`},
		{"query with umlaut", func(c *dynamic.ServerHealthCheck) {
			c.Path = "/?ä"
		}, `path: has a character that no request may have`},
		{"path with line end", func(c *dynamic.ServerHealthCheck) { c.Path = "/\r\nX: y" }, `path: can't be read as a path`},
		{"method", func(c *dynamic.ServerHealthCheck) { c.Method = "GET /" }, `method: "GET /" is no method`},
		{"tunnel", func(c *dynamic.ServerHealthCheck) { c.Method = "CONNECT" }, `method: CONNECT is for tunnels`},
		{"status", func(c *dynamic.ServerHealthCheck) { c.Status = 101 }, `status: 101 is not 200 to 999`},
		{"status of four digits", func(c *dynamic.ServerHealthCheck) { c.Status = 2000 }, `status: 2000 is not 200 to 999`},
		{"negative status", func(c *dynamic.ServerHealthCheck) { c.Status = -1 }, `status: -1 is not 200 to 999`},
		{"port", func(c *dynamic.ServerHealthCheck) { c.Port = 65536 }, `port: 65536 is not 1 to 65535`},
		{"negative port", func(c *dynamic.ServerHealthCheck) { c.Port = -1 }, `port: -1 is not 1 to 65535`},
		{"interval", func(c *dynamic.ServerHealthCheck) { c.Interval = 0 }, `interval: 0s is not above 0`},
		{"unhealthyInterval", func(c *dynamic.ServerHealthCheck) {
			c.UnhealthyInterval = &zero
		}, `unhealthyInterval: 0s is not above 0`},
		{"negative unhealthyInterval", func(c *dynamic.ServerHealthCheck) {
			c.UnhealthyInterval = &negative
		}, `unhealthyInterval: -1s is not above 0`},
		{"timeout", func(c *dynamic.ServerHealthCheck) { c.Timeout = -1 }, `timeout: -1ns is not above 0`},
		{"hostname", func(c *dynamic.ServerHealthCheck) {
			c.Hostname = "a/b"
		}, `hostname: "a/b" is no host, with or without a port`},
		{"hostname with blank", func(c *dynamic.ServerHealthCheck) {
			c.Hostname = "a b"
		}, `hostname: "a b" is no host, with or without a port`},
		{"hostname with user", func(c *dynamic.ServerHealthCheck) {
			c.Hostname = "u@b"
		}, `hostname: "u@b" is no host, with or without a port`},
		{"hostname with port", func(c *dynamic.ServerHealthCheck) {
			c.Hostname = "b:x"
		}, `hostname: "b:x" is no host, with or without a port`},
		{"rise", func(c *dynamic.ServerHealthCheck) { c.Rise = number(0) }, `rise: 0 is not 1 to 1000000`},
		{"fall", func(c *dynamic.ServerHealthCheck) { c.Fall = number(-3) }, `fall: -3 is not 1 to 1000000`},
		{"jitter", func(c *dynamic.ServerHealthCheck) { c.Jitter = number(101) }, `jitter: 101 is not 0 to 100 percent`},
		{"header's name", headers("Bad Name", "x"), `headers: "Bad..." is no name of a header`},
		{"header without name", headers("", "x"), `headers: "" is no name of a header`},
		{"header twice", headers("x-a", "1", "X-A", "2"), `is there twice, in different spelling`},
		{"header for another protocol", headers("Upgrade", "websocket"), `headers: "Upgrade" would request another protocol`},
		{"header with a bad host", headers("Host", "a b"), `headers: the value of "Host" is no host`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := newCheck(test.change)
			if err == nil || !strings.HasPrefix(err.Error(), "healthCheck.") || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want healthCheck.%s", err, test.says)
			}
		})
	}
	if _, err := newCheck(headers("X-Token", "secret\r\nX: y")); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a header with a line end: %v", err)
	}
}

func headers(pairs ...string) func(*dynamic.ServerHealthCheck) {
	return func(c *dynamic.ServerHealthCheck) {
		c.Headers = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			c.Headers[pairs[i]] = pairs[i+1]
		}
	}
}

func TestChecksThatAskTheSameAreEqual(t *testing.T) {
	config := func(change func(*dynamic.ServerHealthCheck)) Check { return checkOf(t, change) }
	plain := config(nil)
	every := ptypes.Duration(30 * time.Second)
	for name, same := range map[string]func(*dynamic.ServerHealthCheck){
		"method":            func(c *dynamic.ServerHealthCheck) { c.Method = "GET" },
		"mode":              func(c *dynamic.ServerHealthCheck) { c.Mode = "" },
		"unhealthyInterval": func(c *dynamic.ServerHealthCheck) { c.UnhealthyInterval = &every },
		"followRedirects":   func(c *dynamic.ServerHealthCheck) { c.FollowRedirects = nil },
		"thresholds":        func(c *dynamic.ServerHealthCheck) { c.Rise, c.Fall, c.Jitter = nil, nil, nil },
		"connection":        headers("Connection", "close", "transfer-encoding", "chunked"),
	} {
		if config(same) != plain {
			t.Errorf("%s: differs from its default", name)
		}
	}
	no := false
	for name, other := range map[string]func(*dynamic.ServerHealthCheck){
		"scheme":          func(c *dynamic.ServerHealthCheck) { c.Scheme = "https" },
		"mode":            func(c *dynamic.ServerHealthCheck) { c.Mode = "grpc" },
		"path":            func(c *dynamic.ServerHealthCheck) { c.Path = "/x" },
		"method":          func(c *dynamic.ServerHealthCheck) { c.Method = "HEAD" },
		"status":          func(c *dynamic.ServerHealthCheck) { c.Status = 204 },
		"port":            func(c *dynamic.ServerHealthCheck) { c.Port = 81 },
		"interval":        func(c *dynamic.ServerHealthCheck) { c.Interval = 1 },
		"timeout":         func(c *dynamic.ServerHealthCheck) { c.Timeout = 1 },
		"hostname":        func(c *dynamic.ServerHealthCheck) { c.Hostname = "x" },
		"followRedirects": func(c *dynamic.ServerHealthCheck) { c.FollowRedirects = &no },
		"headers":         headers("X-A", "1"),
		"rise":            func(c *dynamic.ServerHealthCheck) { c.Rise = number(2) },
		"fall":            func(c *dynamic.ServerHealthCheck) { c.Fall = number(2) },
		"jitter":          func(c *dynamic.ServerHealthCheck) { c.Jitter = number(0) },
	} {
		if config(other) == plain {
			t.Errorf("%s: makes no difference", name)
		}
	}
	if config(headers("a", "1", "b", "2")) != config(headers("B", "2", "A", " 1 ")) {
		t.Error("the spelling of headers makes a difference")
	}
	grpc := func(path string) Check {
		return config(func(c *dynamic.ServerHealthCheck) { c.Mode, c.Path, c.Status = "grpc", path, len(path)+200 })
	}
	if grpc("/a") != grpc("") {
		t.Error("options of mode http make a difference in mode grpc")
	}
}

func TestReferenceIsResolvedLikeTraefiks(t *testing.T) {
	tests := []struct{ base, path, want string }{
		{"", "", "/"},
		{"", "/", "/"},
		{"", "health", "/health"},
		{"", "/health", "/health"},
		{"", "/health?deep=1&x", "/health?deep=1&x"},
		{"", "?deep", "/?deep"},
		{"", "/a/../b/./c", "/b/c"},
		{"", "/%2Fa%20b", "/%2Fa%20b"},
		{"", "/ä b", "/%C3%A4%20b"},
		{"", "/health#fragment", "/health"},
		{"/base", "", "/base"},
		{"/base", "/health", "/health"},
		{"/base", "health", "/health"},
		{"/base/", "health", "/base/health"},
		{"/base/", "../health", "/health"},
		{"/b%2Fc/", "health", "/b%2Fc/health"},
	}
	for _, test := range tests {
		held, err := normalPath(test.path)
		if err != nil {
			t.Errorf("%q: %v", test.path, err)
			continue
		}
		got, err := reference(test.base, held)
		if err != nil || got.RequestURI() != test.want {
			t.Errorf("%q of %q: got %v, %v, want %s", test.path, test.base, got, err, test.want)
		}
	}
}

// FuzzNewCheck demands that whatever is accepted makes a request that stays with its server.
func FuzzNewCheck(f *testing.F) {
	f.Add("/health?x=1", "GET", "example.com:80", "X-A", "1", "/base/")
	f.Add("../..//other", "get", "[::1]", "host", "a", "")
	f.Add("?#", "", "", "", "", "/%2F")
	f.Fuzz(func(t *testing.T, path, method, hostname, name, value, base string) {
		var config dynamic.ServerHealthCheck
		config.SetDefaults()
		config.Path, config.Method, config.Hostname = path, method, hostname
		if name != "" {
			config.Headers = map[string]string{name: value}
		}
		check, err := NewCheck(&config)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "healthCheck.") {
				t.Errorf("the error names no option: %v", err)
			}
			return
		}
		again := config
		again.Path = check.path
		if same, err := NewCheck(&again); err != nil || same != check {
			t.Errorf("the path %q becomes %q, which is another: %v", path, check.path, err)
		}
		at, err := reference(base, check.path)
		if err != nil {
			return
		}
		uri := at.RequestURI()
		if at.Host != "" || !strings.HasPrefix(uri, "/") || strings.ContainsFunc(uri, func(r rune) bool {
			return r <= ' ' || r >= 0x7f
		}) {
			t.Errorf("%q requests %q", path, uri)
		}
		for name, values := range check.header() {
			if len(values) != 1 || strings.ContainsAny(name+values[0], "\r\n") {
				t.Errorf("header %q: %q", name, values)
			}
		}
	})
}
