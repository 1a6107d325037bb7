package forwardauth

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// build returns a forwardAuth whose connections end with the test.
func build(t testing.TB, config dynamic.ForwardAuth) *ForwardAuth {
	t.Helper()
	return dialing(t, config, nil)
}

// dialing is build with connections that are made in another way.
func dialing(t testing.TB, config dynamic.ForwardAuth, dial dialFunc) *ForwardAuth {
	t.Helper()
	step, err := New("auth@file", config, Options{Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(step.Close)
	return step
}

// serve starts an authentication server and returns its URL.
func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// named returns a forwardAuth whose server is called auth.test, wherever that address leads to.
func named(t testing.TB, config dynamic.ForwardAuth, handler http.HandlerFunc) *ForwardAuth {
	t.Helper()
	if config.Address == "" {
		config.Address = "http://auth.test/check?by=sluice"
	}
	return dialing(t, config, leadsTo(serve(t, handler)))
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// leadsTo connects to the server of one URL, whatever the address is.
func leadsTo(where string) dialFunc {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(where, "http://"))
	}
}

// outcome is what became of a request.
type outcome struct {
	*httptest.ResponseRecorder
	record telemetry.Record
	// service is the request as the service got it, nil when it got none.
	service *http.Request
	body    string
}

// send has a request served, by next where that is not nil.
func send(t testing.TB, step *ForwardAuth, r *http.Request, next http.HandlerFunc) *outcome {
	t.Helper()
	o := &outcome{ResponseRecorder: httptest.NewRecorder()}
	r = r.WithContext(telemetry.WithRecord(r.Context(), &o.record))
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.service = r
		if r.Body != nil {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			o.body = string(text)
		}
		if next != nil {
			next(w, r)
		}
	})).ServeHTTP(o, r)
	return o
}

// get is send with a GET that has these headers.
func get(t testing.TB, step *ForwardAuth, headers ...string) *outcome {
	t.Helper()
	return send(t, step, middlewaretest.Request(t, "GET /private?a=1", headers...), nil)
}

// with returns a request with a body.
func with(t testing.TB, body, line string, headers ...string) *http.Request {
	t.Helper()
	r := middlewaretest.Request(t, line, append(headers, fmt.Sprintf("Content-Length: %d", len(body)))...)
	r.Body = io.NopCloser(strings.NewReader(body))
	return r
}

// pointer returns a pointer to a value.
func pointer[T any](value T) *T { return &value }

// lines writes headers one below the other, in order.
func lines(b *strings.Builder, header http.Header) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			fmt.Fprintf(b, "    %s: %s\n", name, value)
		}
	}
}

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
