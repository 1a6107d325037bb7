package forwardauth

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// alias returns a name as a server behind a CGI-like interface reads it.
func alias(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "_", "-")) }

// attempts are ways in which a client could have a header of its own taken for one of the authentication server.
func attempts(name string) map[string]http.Header {
	under := strings.ReplaceAll(name, "-", "_")
	return map[string]http.Header{
		"plain":           {name: {"forged"}},
		"duplicates":      {name: {"forged", "forged too"}},
		"lower case":      {strings.ToLower(name): {"forged"}},
		"upper case":      {strings.ToUpper(name): {"forged"}},
		"alias":           {under: {"forged"}},
		"canonical alias": {http.CanonicalHeaderKey(under): {"forged"}},
		"lower alias":     {strings.ToLower(under): {"forged"}},
		"half an alias":   {strings.Replace(name, "-", "_", 1): {"forged"}},
		"all": {
			name: {"forged"}, strings.ToUpper(name): {"forged"}, under: {"forged"},
			strings.ToLower(under): {"forged"},
		},
		"named by the hop":  {name: {"forged"}, "Connection": {name + ", close"}},
		"alias and the hop": {under: {"forged"}, "Connection": {under + "," + name, "keep-alive, " + strings.ToLower(name)}},
		"empty":             {name: {""}},
		"nothing at all":    {},
	}
}

// identities are definitions that trust a header by its name, by an expression, and by both.
func identities(name string) map[string]dynamic.ForwardAuth {
	return map[string]dynamic.ForwardAuth{
		"name":             {AuthResponseHeaders: []string{name}},
		"name in lower":    {AuthResponseHeaders: []string{"Other", strings.ToLower(name)}},
		"expression":       {AuthResponseHeadersRegex: "^" + name + "$"},
		"lower expression": {AuthResponseHeadersRegex: "^" + strings.ToLower(name) + "$"},
		"part":             {AuthResponseHeadersRegex: name[1:]},
		"under":            {AuthResponseHeadersRegex: "^(" + strings.ReplaceAll(name, "-", "_") + "|" + name + ")$"},
		"both":             {AuthResponseHeaders: []string{name}, AuthResponseHeadersRegex: "^Remote-"},
		"everything":       {AuthResponseHeadersRegex: ".*"},
	}
}

// TestNothingThatIsVouchedForCanBeForged goes through headers that carry identity, ways to trust them, and ways to
// forge them; once with a server that sets them, and once with one that does not.
func TestNothingThatIsVouchedForCanBeForged(t *testing.T) {
	tried := 0
	for _, name := range append(forwarded.Managed(), "X-User-Id", "Remote-User", "Authorization", "Cookie",
		"X-Auth-Request-Access-Token", "X_under_score") {
		for trusting, config := range identities(name) {
			for _, says := range [][]string{nil, {"ours"}, {"ours", "ours too"}} {
				step := named(t, config, func(w http.ResponseWriter, _ *http.Request) {
					if says != nil {
						w.Header()[name] = says
					}
				})
				for way, header := range attempts(name) {
					r := middlewaretest.Request(t, "GET /")
					r.Header = header
					o := send(t, step, r, nil)
					if o.service == nil {
						t.Fatalf("answered %d: %s", o.Code, o.record.Reason)
					}
					forwarded.RemoveHopByHop(o.service.Header, nil)
					if diff := cmp.Diff(says, o.service.Header[name]); diff != "" {
						t.Errorf("%s by %s, %s: %s", name, trusting, way, diff)
					}
					for given := range o.service.Header {
						if given != name && alias(given) == alias(name) {
							t.Errorf("%s by %s, %s: %q is left", name, trusting, way, given)
						}
					}
					tried++
				}
				step.Close()
			}
		}
	}
	t.Logf("%d attempts", tried)
}

// vouching returns a step whose server sets X-User-Id and not X-Gone, by name or by expression.
func vouching(t *testing.T, byExpression bool) *ForwardAuth {
	config := dynamic.ForwardAuth{AuthResponseHeaders: []string{"X-User-Id", "X-Gone"}}
	if byExpression {
		config = dynamic.ForwardAuth{AuthResponseHeadersRegex: "^X-(user-id|gone)$"}
	}
	return named(t, config, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-User-Id", "ours") })
}

// forgedTrailers have the names of headers that the authentication server vouches for, and one of a header that it
// does not.
func forgedTrailers() http.Header {
	return http.Header{"X-User-Id": {"forged"}, "X_user_id": {"forged"}, "X-Gone": {"forged"}, "X-Sum": {"1"}}
}

// expectTrailer reads a body and expects one trailer behind it.
func expectTrailer(t *testing.T) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); string(body) != "abc" || err != nil {
			t.Errorf("body %q, %v", body, err)
		}
		if diff := cmp.Diff(http.Header{"X-Sum": {"1"}}, r.Trailer); diff != "" || r.Header.Get("X-User-Id") != "ours" {
			t.Errorf("headers are %v: %s", r.Header, diff)
		}
	})
}

func TestAnnouncedTrailersForgeNothing(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		for _, byExpression := range []bool{false, true} {
			server := httptest.NewUnstartedServer(vouching(t, byExpression).Wrap(expectTrailer(t)))
			server.EnableHTTP2 = h2
			server.StartTLS()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL,
				io.NopCloser(strings.NewReader("abc")))
			if err != nil {
				t.Fatal(err)
			}
			r.Trailer = forgedTrailers()
			answer, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != http.StatusOK {
				t.Errorf("answers %s", answer.Status)
			}
			_ = answer.Body.Close()
			server.Close()
		}
	}
}

// late is a body whose trailers come with its end, unannounced.
type late struct {
	*strings.Reader
	request *http.Request
}

// Read reads, and has trailers at the end.
func (l *late) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		l.request.Trailer = forgedTrailers()
	}
	return n, err
}

// Close does nothing.
func (*late) Close() error { return nil }

// TestUnannouncedTrailersForgeNothing has trailers that are read at the body's end, whichever handler reads it.
func TestUnannouncedTrailersForgeNothing(t *testing.T) {
	for _, forwardBody := range []bool{false, true} {
		for _, byExpression := range []bool{false, true} {
			step := vouching(t, byExpression)
			step.settings.forwardBody = forwardBody
			r := middlewaretest.Request(t, "POST /", "Transfer-Encoding: chunked")
			r.Body = &late{strings.NewReader("abc"), r}
			w := httptest.NewRecorder()
			step.Wrap(expectTrailer(t)).ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("answers %d", w.Code)
			}
		}
	}
}

// TestExpressionsLeaveFramesAlone has one that matches everything, a server that sets what frames messages, and a
// request that needs them.
func TestExpressionsLeaveFramesAlone(t *testing.T) {
	step := named(t, dynamic.ForwardAuth{AuthResponseHeadersRegex: ".*"}, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{"Expect", "Host", "Keep-Alive", "Te", "Upgrade", "Proxy-Connection", "Http2-Settings"} {
			w.Header().Set(name, "theirs")
		}
		w.Header().Set("X-User", "ours")
		_, _ = io.WriteString(w, "0123456789")
	})
	r := with(t, "abc", "POST /", "Connection: Upgrade", "Upgrade: websocket", "Te: trailers", "Expect: 100-continue",
		"X-Other: theirs")
	want := map[string][]string{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Te": {"trailers"}, "Expect": {"100-continue"},
		"Content-Length": {"3"}, "X-User": {"ours"},
	}
	o := send(t, step, r, nil)
	got := map[string][]string{}
	for name, values := range o.service.Header {
		if name != "Date" && name != "Content-Type" { // These are the server's, and match.
			got[name] = values
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || o.body != "abc" {
		t.Errorf("%q, %s", o.body, diff)
	}
}

// TestConnectionKeepsWhatItMayName has an entrypoint that leaves a header in Connection, of which only what is
// vouched for is taken out.
func TestConnectionKeepsWhatItMayName(t *testing.T) {
	o := send(t, vouching(t, false), middlewaretest.Request(t, "GET /", "X-Hop: 1", "X-User-Id: forged",
		"Connection: x-user-id , X-Hop, X-Gone", "Connection: X-USER-ID"), nil)
	if lines := o.service.Header["Connection"]; len(lines) != 1 || strings.TrimSpace(lines[0]) != "X-Hop" {
		t.Errorf("Connection is %q", lines)
	}
	o = send(t, vouching(t, true), middlewaretest.Request(t, "GET /", "Connection: x-user-id"), nil)
	if lines, there := o.service.Header["Connection"]; there {
		t.Errorf("Connection is %q", lines)
	}
}

// FuzzForgedNames has what the server vouches for by any expression forged under any name.
func FuzzForgedNames(f *testing.F) {
	f.Add("^X-Auth-", "X-Auth-User", "x_auth_user")
	f.Add("^remote", "Remote-User", "REMOTE_USER")
	f.Add(".*", "Te", "T-E")
	f.Add("(?-i)a|B", "A", "b")
	f.Add(`\Qx-`, "X-Q", "X_q")
	f.Fuzz(func(t *testing.T, expression, vouched, sent string) {
		found, err := newIdentity(&dynamic.ForwardAuth{AuthResponseHeadersRegex: expression})
		if err != nil || expression == "" {
			return // It vouches for nothing.
		}
		names, err := authorize.HeaderNames("", []string{vouched, sent})
		if err != nil {
			return // They are no names of headers.
		}
		vouched = names[0]
		r := &http.Request{
			Header:  http.Header{sent: {"forged"}, "Connection": {vouched}},
			Trailer: http.Header{sent: {"forged"}}, Body: http.NoBody,
		}
		found.apply(r, http.Header{vouched: {"ours"}})
		if found.expression.MatchString(vouched) && !forwarded.Frames(vouched) {
			if !slices.Equal(r.Header[vouched], []string{"ours"}) {
				t.Fatalf("%s is %q", vouched, r.Header[vouched])
			}
			for _, headers := range []http.Header{r.Header, r.Trailer} {
				for name, values := range headers {
					if alias(name) == alias(vouched) && strings.Contains(fmt.Sprint(values), "forged") {
						t.Fatalf("%q passes for %q", name, vouched)
					}
				}
			}
		}
	})
}
