package errors_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	errorpages "github.com/sluiceproxy/sluice/middleware/errors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eventTimeout is how long a test waits for what must happen.
const eventTimeout = 20 * time.Second

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// build returns the middleware of a definition.
func build(t testing.TB, config dynamic.ErrorPage, service http.Handler) *errorpages.ErrorPages {
	t.Helper()
	if config.Service == "" {
		config.Service = "pages"
	}
	pages, err := errorpages.New("pages@file", config, service, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// answers returns a handler with a status, a body and headers.
func answers(status int, body string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// scripted returns the URL of an endpoint that answers each connection with the script, after it has read one request's
// head.
func scripted(t *testing.T, script func(conn net.Conn)) string {
	t.Helper()
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		if conn.Head() != "" {
			script(conn.Conn)
		}
	})
	return "http://" + endpoint.Address()
}

// reply is what a client got, as text.
func reply(response *http.Response, body string) string {
	var text strings.Builder
	text.WriteString(response.Status + "\n")
	header := response.Header.Clone()
	header.Del("Date")
	_ = header.Write(&text)
	return strings.ReplaceAll(text.String(), "\r\n", "\n") + "\n" + body
}

// do sends a request and returns the response with its body.
func do(t *testing.T, client *http.Client, r *http.Request) (*http.Response, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), eventTimeout)
	defer cancel()
	response, err := client.Do(r.WithContext(ctx))
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close() //nolint:errcheck // a test's
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
