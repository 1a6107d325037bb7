package headers

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// TestNothingThatIsSetCanBeForged goes through ways in which a client could have a header of its own taken for ours.
func TestNothingThatIsSetCanBeForged(t *testing.T) {
	const value = "ours"
	for _, name := range append(forwarded.Managed(), "X-User-Id", "Authorization", "X-Ssl-Client-S-Dn", "Cookie",
		"Origin") {
		alias := strings.ReplaceAll(name, "-", "_")
		for way, header := range map[string]http.Header{
			"duplicates":     {name: {"forged", "forged too"}},
			"lower case":     {strings.ToLower(name): {"forged"}},
			"upper case":     {strings.ToUpper(name): {"forged"}},
			"alias":          {alias: {"forged"}},
			"lower alias":    {strings.ToLower(alias): {"forged"}},
			"half an alias":  {strings.Replace(name, "-", "_", 1): {"forged"}},
			"all":            {name: {"forged"}, strings.ToUpper(name): {"forged"}, alias: {"forged"}},
			"empty":          {name: {""}},
			"nothing at all": {},
		} {
			for _, config := range []map[string]string{{name: value}, {strings.ToLower(name): value}, {name: ""}} {
				r := middlewaretest.Request(t, "GET /")
				r.Header = header.Clone()
				var want []string
				for _, value := range config {
					if value != "" {
						want = []string{value}
					}
				}
				build(t, dynamic.Headers{CustomRequestHeaders: config}).Wrap(http.HandlerFunc(func(_ http.ResponseWriter,
					r *http.Request,
				) {
					if diff := cmp.Diff(want, r.Header[name]); diff != "" {
						t.Errorf("%s, %s: %s", name, way, diff)
					}
					for given := range r.Header {
						if given != name {
							t.Errorf("%s, %s: %q is left", name, way, given)
						}
					}
				})).ServeHTTP(nil, r)
			}
		}
	}
}

// TestConnectionRemovesNothingThatIsSet has a client that calls the header one of its hop. The entrypoint looks at
// that before the middleware, the forwarder after it.
func TestConnectionRemovesNothingThatIsSet(t *testing.T) {
	r := middlewaretest.Request(t, "GET /", "Connection: X-User-Id, close", "X-User-Id: forged")
	forwarded.RemoveHopByHop(r.Header, nil)
	options := dynamic.Headers{CustomRequestHeaders: map[string]string{"X-User-Id": "ours"}}
	build(t, options).Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		forwarded.RemoveHopByHop(r.Header, nil)
		if diff := cmp.Diff(http.Header{"X-User-Id": {"ours"}}, r.Header); diff != "" {
			t.Error(diff)
		}
	})).ServeHTTP(nil, r)
}

// forgedTrailers have the names of what trailerStep sets and removes.
func forgedTrailers() http.Header {
	return http.Header{"X-User-Id": {"forged"}, "X_user_id": {"forged"}, "X-Gone": {"forged"}, "X-Sum": {"1"}}
}

// trailerStep is a middleware whose service reads a body and expects one trailer behind it.
func trailerStep(t *testing.T) http.Handler {
	step := build(t, dynamic.Headers{CustomRequestHeaders: map[string]string{"X-User-Id": "ours", "X-Gone": ""}})
	return step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for name := range r.Trailer {
			if name != "X-Sum" {
				t.Errorf("%s is announced", name)
			}
		}
		if body, err := io.ReadAll(r.Body); string(body) != "abc" || err != nil {
			t.Errorf("body %q, %v", body, err)
		}
		if diff := cmp.Diff(http.Header{"X-Sum": {"1"}}, r.Trailer); diff != "" {
			t.Error(diff)
		}
	}))
}

func TestAnnouncedTrailersForgeNothing(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(trailerStep(t))
		server.EnableHTTP2 = h2
		server.StartTLS()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, io.NopCloser(strings.NewReader("abc")))
		if err != nil {
			t.Fatal(err)
		}
		r.Trailer = forgedTrailers()
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		server.Close()
	}
}

// TestUnannouncedTrailersForgeNothing has trailers that appear at the end of the body only.
func TestUnannouncedTrailersForgeNothing(t *testing.T) {
	for _, body := range []string{"not announced", "read before"} {
		r := middlewaretest.Request(t, "POST /", "Transfer-Encoding: chunked")
		r.Body = &late{Reader: strings.NewReader("abc"), request: r, trailer: forgedTrailers()}
		if body == "read before" {
			r.Trailer = forgedTrailers()
		}
		trailerStep(t).ServeHTTP(nil, r)
	}
}

// late is a body whose trailers come with its end, unannounced.
type late struct {
	*strings.Reader
	request *http.Request
	trailer http.Header
}

// Read sets the trailers at the end.
func (l *late) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		l.request.Trailer = l.trailer
	}
	return n, err
}

// Close does nothing.
func (*late) Close() error { return nil }

func TestBodiesWithoutTrailersStayAsTheyAre(t *testing.T) {
	step := build(t, dynamic.Headers{CustomRequestHeaders: map[string]string{"X-A": "1"}})
	for _, lines := range [][]string{{"GET /"}, {"POST /", "Content-Length: 3"}} {
		r := middlewaretest.Request(t, lines[0], lines[1:]...)
		body := r.Body
		step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.Body != body {
				t.Errorf("%q: the body is wrapped", lines)
			}
		})).ServeHTTP(nil, r)
	}
}
