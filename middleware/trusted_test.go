package middleware_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// arrival is what an endpoint receives of one header and its aliases, in the head and in the trailers.
type arrival struct{ Head, Trailer map[string][]string }

// TestTrustedHeadersAreNotForged sends each header that a middleware sets for services, in every spelling that a
// service may take for it, from a client through an entrypoint, the middleware and the forwarding to an endpoint.
func TestTrustedHeadersAreNotForged(t *testing.T) {
	for _, test := range []struct {
		header string
		step   dynamic.Middleware
		value  string // for /api/x
	}{
		{"X-Forwarded-Prefix", dynamic.Middleware{StripPrefix: &dynamic.StripPrefix{Prefixes: []string{"/api"}}}, "/api"},
		{
			"X-Forwarded-Prefix",
			dynamic.Middleware{StripPrefixRegex: &dynamic.StripPrefixRegex{Regex: []string{"/ap."}}},
			"/api",
		},
		{"X-Replaced-Path", dynamic.Middleware{ReplacePath: &dynamic.ReplacePath{Path: "/new"}}, "/api/x"},
		{"X-Replaced-Path", dynamic.Middleware{ReplacePathRegex: &dynamic.ReplacePathRegex{
			Regex:       "^/api",
			Replacement: "/new",
		}}, "/api/x"},
	} {
		kind, err := middleware.KindOf(&test.step)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(kind, func(t *testing.T) {
			ask := proxy(t, &test.step, test.header)
			for name, forgery := range forgeries(test.header) {
				for _, path := range []string{"/api/x", "/other"} {
					want := arrival{Head: map[string][]string{}, Trailer: map[string][]string{}}
					if path == "/api/x" || test.step.ReplacePath != nil {
						want.Head[test.header] = []string{strings.Replace(test.value, "/api/x", path, 1)}
					}
					if diff := gocmp.Diff(want, ask("POST "+path+" HTTP/1.1\r\nHost: h\r\n"+forgery)); diff != "" {
						t.Errorf("%s, %s: %s", name, path, diff)
					}
				}
			}
		})
	}
}

// forgeries are the ends of requests that try to set a header: the rest of the head, and the body.
func forgeries(header string) map[string]string {
	const body = "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
	alias := strings.ReplaceAll(header, "-", "_")
	partly := strings.Replace(header, "-", "_", 1)
	all := map[string]string{"nothing": body + "\r\n"}
	for name, spelling := range map[string]string{
		"plain": header, "lower case": strings.ToLower(header), "upper case": strings.ToUpper(header),
		"alias": alias, "lower-case alias": strings.ToLower(alias), "partial alias": partly,
	} {
		line := spelling + ": forged\r\n"
		all[name] = line + body + "\r\n"
		all[name+", twice"] = line + strings.ToLower(line) + spelling + ":\r\n" + body + "\r\n"
		all[name+", in Connection"] = line + "Connection: close, " + spelling + "\r\n" + body + "\r\n"
		all[name+", in Connection only"] = "Connection: " + spelling + "\r\n" + body + "\r\n"
		all[name+", in a trailer"] = "Trailer: " + spelling + "\r\n" + body + line + "\r\n"
		all[name+", in a trailer that was not announced"] = "TE: trailers\r\n" + body + line + line + "\r\n"
	}
	return all
}

// proxy starts an endpoint and an entrypoint with the middleware in front of it. It returns a function that sends a
// request and returns what the endpoint received of the header.
func proxy(t *testing.T, definition *dynamic.Middleware, header string) func(request string) arrival {
	t.Helper()
	arrivals := make(chan arrival, 1)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrivals <- arrival{Head: alike(r.Header, header), Trailer: alike(r.Trailer, header)}
	}))
	t.Cleanup(endpoint.Close)
	builder := middleware.NewBuilder(middleware.Options{})
	t.Cleanup(builder.Close)
	step, err := builder.Build("step@file", definition, middleware.References{}, &middleware.Reads{})
	if err != nil {
		t.Fatal(err)
	}
	address := listen(t, step.Wrap(service(t, endpoint.URL)))
	return func(request string) arrival {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Fatalf("%q: status %d", request, response.StatusCode)
		}
		return <-arrivals
	}
}

// alike returns the fields that a service may take for the header.
func alike(fields http.Header, header string) map[string][]string {
	found := make(map[string][]string)
	for name, values := range fields {
		if strings.EqualFold(strings.ReplaceAll(name, "_", "-"), header) {
			found[name] = values
		}
	}
	return found
}

func service(t *testing.T, url string) http.Handler {
	t.Helper()
	transport, err := forward.NewTransport("test@file", &dynamic.ServersTransport{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := loadbalancer.NewServerSpec(dynamic.Server{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	pools := loadbalancer.NewRegistry(loadbalancer.Options{})
	t.Cleanup(func() { pools.Release("service@file") })
	pool := pools.NewPool("service@file")
	pools.Configure(pool, loadbalancer.PoolSpec{
		Name: "service@file", Dialer: transport,
		Servers: []loadbalancer.ServerSpec{server},
	})
	return forward.NewService(pool, forward.Options{Service: "service@file"})
}

// plain refuses TLS.
type plain struct{}

func (plain) SelectTLS(string) (*certificate.Options, bool) { return nil, false }

func listen(t *testing.T, handler http.Handler) (address string) {
	t.Helper()
	config := new(static.EntryPoint)
	config.SetDefaults()
	config.Address = "127.0.0.1:0"
	web, err := entrypoint.New("web", config, handler, plain{}, entrypoint.Dependencies{Logger: telemetry.Discard{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := web.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return web.Addr().String()
}

// TestLocationIsNotForged requests redirects with everything that could duplicate or change a Location.
func TestLocationIsNotForged(t *testing.T) {
	builder := middleware.NewBuilder(middleware.Options{})
	t.Cleanup(builder.Close)
	for _, definition := range []dynamic.Middleware{
		{RedirectScheme: &dynamic.RedirectScheme{Scheme: "https"}},
		{RedirectRegex: &dynamic.RedirectRegex{Regex: "^http://", Replacement: "https://"}},
	} {
		step, err := builder.Build("step@file", &definition, middleware.References{}, &middleware.Reads{})
		if err != nil {
			t.Fatal(err)
		}
		handler := step.Wrap(http.NotFoundHandler())
		address := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Location"] = []string{"forged", "forged"} // by an earlier handler
			handler.ServeHTTP(w, r)
		}))
		for _, lines := range forgeries("Location") {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.WriteString(conn, "POST /a%0d%0aLocation:%20forged HTTP/1.1\r\nHost: h\r\n"+lines)
			response, readErr := http.ReadResponse(bufio.NewReader(conn), nil)
			if err := cmp.Or(err, readErr); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			_ = conn.Close()
			locations := slices.Concat(response.Header["Location"], response.Trailer["Location"])
			if got, want := fmt.Sprint(response.StatusCode,
				locations), "307 [https://h/a%0D%0ALocation:%20forged]"; got != want {
				t.Errorf("%q: %s, want %s", lines, got, want)
			}
		}
	}
}
