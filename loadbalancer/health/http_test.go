package health

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

func TestStatusDecides(t *testing.T) {
	s := serve(t, "http", func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.WriteHeader(status)
	})
	tests := []struct {
		answered, expected int
		up                 bool
		reason             string
	}{
		{200, 0, true, "status 200"},
		{204, 0, true, "status 204"},
		{304, 0, true, "status 304"},
		{399, 0, true, "status 399"},
		{400, 0, false, "status 400"},
		{503, 0, false, "status 503"},
		{200, 204, false, "status 200, not 204"},
		{204, 204, true, "status 204"},
		{503, 503, true, "status 503"},
		{404, 200, false, "status 404, not 200"},
	}
	for _, test := range tests {
		for _, scheme := range []string{"http", "h2c"} {
			got := first(t, s.target(scheme, ""), func(c *dynamic.ServerHealthCheck) {
				c.Path, c.Status = fmt.Sprintf("/%d?token=secret", test.answered), test.expected
			})
			wants(t, got, test.up, fmt.Sprintf("GET /%d: %s", test.answered, test.reason))
		}
	}
}

// seen is what a server sees of a check.
type seen struct {
	Proto, Method, URI, Host, TLSName string
	Header                            http.Header
	Length                            int64
}

func TestRequestsOfChecks(t *testing.T) {
	requests := make(chan seen, 1)
	handler := func(_ http.ResponseWriter, r *http.Request) {
		request := seen{
			Proto: r.Proto, Method: r.Method, URI: r.RequestURI, Host: r.Host, Header: r.Header,
			Length: r.ContentLength,
		}
		if r.TLS != nil {
			request.TLSName = r.TLS.ServerName
		}
		for _, name := range []string{"Connection", "Accept-Encoding", "User-Agent"} {
			r.Header.Del(name)
		}
		requests <- request
	}
	plain, secure := serve(t, "http", handler), serve(t, "https", handler)
	port := func(s *server) int { return int(s.address().Port()) }
	none := http.Header{}
	tests := []struct {
		name   string
		target Target
		change func(*dynamic.ServerHealthCheck)
		want   seen
	}{
		{"nothing said", plain.target("http", ""), nil, seen{"HTTP/1.1", "GET", "/", plain.address().String(), "", none, 0}},
		{"server's name", plain.target("http", "web.test:81"), nil, seen{"HTTP/1.1", "GET", "/", "web.test:81", "", none, 0}},
		{"path and method", plain.target("http", ""), func(c *dynamic.ServerHealthCheck) {
			c.Path, c.Method = "/a%2Fb?x=1", "HEAD"
		}, seen{"HTTP/1.1", "HEAD", "/a%2Fb?x=1", plain.address().String(), "", none, 0}},
		{
			"a method with a body", plain.target("http", ""), func(c *dynamic.ServerHealthCheck) { c.Method = "POST" },
			seen{"HTTP/1.1", "POST", "/", plain.address().String(), "", http.Header{"Content-Length": {"0"}}, 0},
		},
		{
			"hostname", plain.target("http", "web.test"), func(c *dynamic.ServerHealthCheck) { c.Hostname = "health.test" },
			seen{"HTTP/1.1", "GET", "/", "health.test", "", none, 0},
		},
		{
			"headers", plain.target("http", ""), headers("x-token", "a: b", "Host", "named.test", "Connection", "keep-alive"),
			seen{"HTTP/1.1", "GET", "/", "named.test", "", http.Header{"X-Token": {"a: b"}}, 0},
		},
		{"hostname before the header", plain.target("http", ""), func(c *dynamic.ServerHealthCheck) {
			c.Hostname, c.Headers = "health.test", map[string]string{"host": "named.test"}
		}, seen{"HTTP/1.1", "GET", "/", "health.test", "", none, 0}},
		{
			"port",
			Target{
				Scheme: "http", Host: "web.test:1", Address: netip.AddrPortFrom(plain.address().Addr(), 1),
				Connect: &connector{},
			},
			func(c *dynamic.ServerHealthCheck) { c.Port = port(plain) },
			seen{"HTTP/1.1", "GET", "/", fmt.Sprintf("web.test:%d", port(plain)), "", none, 0},
		},
		{"h2c", plain.target("h2c", ""), nil, seen{"HTTP/2.0", "GET", "/", plain.address().String(), "", none, 0}},
		{
			"scheme h2c", plain.target("http", ""), func(c *dynamic.ServerHealthCheck) { c.Scheme = "h2c" },
			seen{"HTTP/2.0", "GET", "/", plain.address().String(), "", none, 0},
		},
		{
			"https", secure.target("https", "example.com:444"), func(c *dynamic.ServerHealthCheck) {
				c.Hostname = "health.test"
			},
			seen{"HTTP/2.0", "GET", "/", "health.test", "example.com", none, 0},
		},
		{
			"scheme https", secure.target("http", "example.com"), func(c *dynamic.ServerHealthCheck) { c.Scheme = "https" },
			seen{"HTTP/2.0", "GET", "/", "example.com", "example.com", none, 0},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := first(t, test.target, test.change)
			if !got.Up {
				t.Fatal(got.Reason)
			}
			request := <-requests
			if diff := cmp.Diff(test.want, request); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestChecksNameTheirSender(t *testing.T) {
	agents := make(chan string, 1)
	s := serve(t, "http", func(_ http.ResponseWriter, r *http.Request) { agents <- r.UserAgent() })
	for _, scheme := range []string{"http", "h2c"} {
		first(t, s.target(scheme, ""), nil)
		if got := <-agents; got != userAgent {
			t.Errorf("%s: %q", scheme, got)
		}
		first(t, s.target(scheme, ""), headers("user-agent", "own"))
		if got := <-agents; got != "own" {
			t.Errorf("%s: %q, want what the option says", scheme, got)
		}
	}
}

func TestRedirects(t *testing.T) {
	other := serve(t, "http", func(http.ResponseWriter, *http.Request) { t.Error("another server got a request") })
	var methods []string
	s := serve(t, "http", func(w http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method)
		to := r.URL.Query().Get("to")
		switch r.URL.Path {
		case "/ok":
		case "/sick":
			w.WriteHeader(http.StatusInternalServerError)
		case "/loop":
			w.Header().Set("Location", "/loop?to=x")
			w.WriteHeader(http.StatusFound)
		default:
			if to != "" {
				w.Header().Set("Location", to)
			}
			var status int
			_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
			w.WriteHeader(status)
		}
	})
	own := s.address().String()
	follow, stay := true, false
	tests := []struct {
		name, method, path, hostname string
		follow                       *bool
		status                       int
		up                           bool
		reason, methods              string
	}{
		{"to a path", "GET", "/302?to=/ok", "", &follow, 0, true, "GET /ok: status 200", "GET GET"},
		{"to a relative path", "GET", "/302?to=ok", "", &follow, 0, true, "GET /ok: status 200", "GET GET"},
		{"to a sick path", "GET", "/302?to=/sick", "", &follow, 0, false, "GET /sick: status 500", "GET GET"},
		{
			"to itself in full", "GET", "/301?to=http://" + own + "/sick", "", &follow, 0, false, "GET /sick: status 500",
			"GET GET",
		},
		{
			"to itself by name", "GET", "/301?to=http://Web.test:80/sick", "web.test", &follow, 0, false,
			"GET /sick: status 500", "GET GET",
		},
		{"by default", "GET", "/302?to=/sick", "", &stay, 0, true, "GET /302: status 302", "GET"},
		{"to another server", "GET", "/302?to=" + other.URL + "/ok", "", &follow, 0, true, "GET /302: status 302", "GET"},
		{
			"to another server, where 200 is due", "GET", "/302?to=" + other.URL + "/ok", "", &follow, 200, false,
			"GET /302: status 302, not 200", "GET",
		},
		{"to another scheme", "GET", "/308?to=https://" + own + "/ok", "", &follow, 0, true, "GET /308: status 308", "GET"},
		{
			"to another port", "GET", "/302?to=http://web.test:8080/ok", "web.test", &follow, 0, true, "GET /302: status 302",
			"GET",
		},
		{"to nowhere", "GET", "/302", "", &follow, 0, true, "GET /302: status 302", "GET"},
		{
			"to what is no URL", "GET", "/302?to=%25zz", "", &follow, 0, false,
			"GET /302: a redirect whose Location can't be read", "GET",
		},
		{
			"in a circle", "GET", "/loop", "", &follow, 0, false, "GET /loop: more than 10 redirects",
			strings.Repeat("GET ", 10) + "GET",
		},
		{"303 makes it GET", "POST", "/303?to=/ok", "", &follow, 0, true, "GET /ok: status 200", "POST GET"},
		{"302 makes it GET", "POST", "/302?to=/ok", "", &follow, 0, true, "GET /ok: status 200", "POST GET"},
		{"307 does not", "POST", "/307?to=/ok", "", &follow, 0, true, "POST /ok: status 200", "POST POST"},
		{"HEAD stays", "HEAD", "/303?to=/ok", "", &follow, 0, true, "HEAD /ok: status 200", "HEAD HEAD"},
		{"304 is none", "GET", "/304?to=/sick", "", &follow, 0, true, "GET /304: status 304", "GET"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			methods = nil
			got := first(t, s.target("http", ""), func(c *dynamic.ServerHealthCheck) {
				c.Method, c.Path, c.Hostname, c.FollowRedirects, c.Status = test.method, test.path, test.hostname, test.follow,
					test.status
			})
			wants(t, got, test.up, test.reason)
			if asked := strings.Join(methods, " "); asked != test.methods {
				t.Errorf("requested %s, want %s", asked, test.methods)
			}
		})
	}
}

func TestEveryCheckConnects(t *testing.T) {
	for _, scheme := range []string{"http", "h2c", "https"} {
		t.Run(scheme, func(t *testing.T) {
			remotes := make(chan string, 3)
			s := serve(t, scheme, func(_ http.ResponseWriter, r *http.Request) {
				select {
				case remotes <- r.RemoteAddr:
				default: // It is over.
				}
			})
			prober := NewProber(1)
			defer prober.Close()
			probe := prober.Start(s.target(scheme, "example.com"), every(t, time.Millisecond, nil), func(Result) {})
			all := []string{<-remotes, <-remotes, <-remotes}
			probe.Stop()
			slices.Sort(all)
			if n := len(slices.Compact(all)); n != 3 {
				t.Errorf("3 checks over %d connections", n)
			}
			for s.open.Load() != 0 { // Or the test runs out of time.
				<-s.left
			}
		})
	}
}

// TestBodiesCostNoTime has an endpoint whose body does not end.
func TestBodiesCostNoTime(t *testing.T) {
	for _, scheme := range []string{"http", "h2c"} {
		gone := make(chan struct{})
		s := serve(t, scheme, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(gone)
		})
		begin := time.Now()
		got := first(t, s.target(scheme, ""), func(c *dynamic.ServerHealthCheck) { c.Timeout = 3600e9 })
		wants(t, got, true, "GET /: status 200")
		<-gone
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s: it took %v", scheme, took)
		}
	}
	s := serve(t, "http", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, io.LimitReader(zeros{}, 1<<30))
	})
	wants(t, first(t, s.target("http", ""), nil), true, "GET /: status 200")
	// A body that breaks off changes nothing either.
	s = serve(t, "http", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("short"))
	})
	wants(t, first(t, s.target("http", ""), nil), true, "GET /: status 200")
}

type zeros struct{}

// Read fills the buffer.
func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestNoAnswer(t *testing.T) {
	hung := serve(t, "http", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	wants(t, first(t, hung.target("http", ""), quickly), false, "GET /: no answer within 50ms")
	wants(t, first(t, hung.target("h2c", ""), quickly), false, "GET /: no answer within 50ms")

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	deaf := Target{Scheme: "http", Address: netip.MustParseAddrPort(listener.Addr().String()), Connect: &connector{}}
	wants(t, first(t, deaf, quickly), false, "GET /: no answer within 50ms")
	_ = listener.Close()
	refusing := deaf
	refusing.Address = netip.MustParseAddrPort(http1test.Reserve(t))
	wants(t, first(t, refusing, nil), false, "connect: connection refused")

	cut := serve(t, "http", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if got := first(t, cut.target("http", ""), nil); got.Up || !strings.HasPrefix(got.Reason, "GET /: ") {
		t.Errorf("cut off: %v", got)
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	s := serve(t, "https", func(http.ResponseWriter, *http.Request) {})
	got := first(t, s.target("https", "other.test"), nil)
	if got.Up || !strings.Contains(got.Reason, "certificate") {
		t.Errorf("a certificate for another name: %v", got)
	}
	stranger := s.target("https", "example.com")
	stranger.Connect = &connector{}
	if got = first(t, stranger, nil); got.Up || !strings.Contains(got.Reason, "certificate") {
		t.Errorf("a certificate of a stranger: %v", got)
	}
}

// TestReasonsAreOneLine has an endpoint answer what is no HTTP, with all that a terminal would act on.
func TestReasonsAreOneLine(t *testing.T) {
	text := printable("a\x1b[31m\r\nb\xff" + string(bytes.Repeat([]byte("ä"), 200)))
	if strings.ContainsAny(text, "\x1b\r\n") || len(text) > maxReason+3 || !strings.HasPrefix(text, "a [31m  b ") {
		t.Errorf("%q", text)
	}
}

// TestErrorsFitIntoALine has a client fail with text of the endpoint's.
func TestErrorsFitIntoALine(t *testing.T) {
	if got := clause(errors.New("malformed HTTP response \x1b[2J\nlevel=info")); got != "malformed HTTP response  [2J "+
		"level=info" {
		t.Errorf("%q", got)
	}
}
