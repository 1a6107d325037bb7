package basicauth

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

// seen is what the service got of a request that could name the user.
type seen struct{ Head, Trailer http.Header }

// guarded starts a server with the middleware in front of a service that reports its requests.
func guarded(t *testing.T, h2 bool) (*httptest.Server, <-chan seen) {
	t.Helper()
	got := make(chan seen, 1)
	step := build(t, dynamic.BasicAuth{Users: []string{shaUser}, HeaderField: "X-WebAuth-User", RemoveHeader: true})
	server := httptest.NewUnstartedServer(step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- seen{alike(r.Header), alike(r.Trailer)}
	})))
	server.EnableHTTP2 = h2
	if h2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server, got
}

// alike returns the fields that a service may take for the user's name or for credentials.
func alike(fields http.Header) http.Header {
	found := http.Header{}
	for name, values := range fields {
		if same := strings.ReplaceAll(name, "_", "-"); strings.EqualFold(same, "X-WebAuth-User") ||
			strings.EqualFold(same, "Authorization") {
			found[name] = values
		}
	}
	return found
}

// TestNamesAreNotForged has a client name itself in every spelling that a service may take for the header.
func TestNamesAreNotForged(t *testing.T) {
	server, got := guarded(t, false)
	want := seen{Head: http.Header{"X-Webauth-User": {"sha"}}, Trailer: http.Header{}}
	const body = "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
	for _, spelling := range []string{
		"X-WebAuth-User", "x-webauth-user", "X-WEBAUTH-USER", "X_WebAuth_User",
		"x_webauth_user", "X-WebAuth_User",
	} {
		line := spelling + ": forged\r\n"
		for name, rest := range map[string]string{
			"once":                  line + body + "\r\n",
			"twice":                 line + strings.ToLower(line) + spelling + ":\r\n" + body + "\r\n",
			"in Connection":         line + "Connection: close, " + spelling + "\r\n" + body + "\r\n",
			"in Connection only":    "Connection: " + spelling + "\r\n" + body + "\r\n",
			"in a trailer":          "Trailer: " + spelling + "\r\n" + body + line + "\r\n",
			"in an unnamed trailer": "TE: trailers\r\n" + body + line + line + "\r\n",
		} {
			status := exchange(t, server.Listener.Addr().String(), "POST / HTTP/1.1\r\nHost: h\r\n"+basic("sha", "secret")+
				"\r\n"+rest)
			if status != http.StatusOK {
				t.Errorf("%s %s: status %d", spelling, name, status)
				continue
			}
			if diff := cmp.Diff(want, <-got); diff != "" {
				t.Errorf("%s %s: %s", spelling, name, diff)
			}
		}
	}
	server, got = guarded(t, true)
	for _, spelling := range []string{"x-webauth-user", "x_webauth_user", "x-webauth_user"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL,
			io.MultiReader(strings.NewReader("body")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{spelling: {"forged", "forged"}}
		r.Trailer = http.Header{spelling: {"forged"}}
		r.SetBasicAuth("sha", "secret")
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.ProtoMajor != 2 || response.StatusCode != http.StatusOK {
			t.Fatalf("HTTP/%d, status %d", response.ProtoMajor, response.StatusCode)
		}
		if diff := cmp.Diff(want, <-got); diff != "" {
			t.Errorf("%s: %s", spelling, diff)
		}
	}
}

// exchange sends a request and returns the status of the answer.
func exchange(t *testing.T, address, request string) int {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestRefusedWhileTheBodyIsStillSent answers before the body has come.
func TestRefusedWhileTheBodyIsStillSent(t *testing.T) {
	server, _ := guarded(t, false)
	for _, framing := range []string{
		"Content-Length: 1000000\r\n\r\nbegun",
		"Expect: 100-continue\r\nContent-Length: 10\r\n\r\n",
	} {
		if status := exchange(t, server.Listener.Addr().String(), "POST / HTTP/1.1\r\nHost: h\r\n"+
			framing); status != http.StatusUnauthorized {
			t.Errorf("%q: status %d", framing, status)
		}
	}
}

// TestTheServiceHasTheServersWriter proves that upgrades, flushes and trailers are none of the middleware's business,
// and that panics pass.
func TestTheServiceHasTheServersWriter(t *testing.T) {
	step := build(t, dynamic.BasicAuth{Users: []string{shaUser}})
	w := httptest.NewRecorder()
	handler := step.Wrap(http.HandlerFunc(func(got http.ResponseWriter, _ *http.Request) {
		if got != http.ResponseWriter(w) {
			t.Errorf("the service has a %T", got)
		}
		panic(http.ErrAbortHandler)
	}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	r.SetBasicAuth("sha", "secret")
	defer func() {
		if cause, _ := recover().(error); !errors.Is(cause, http.ErrAbortHandler) {
			t.Errorf("the server sees %v", cause)
		}
	}()
	handler.ServeHTTP(w, r)
}
