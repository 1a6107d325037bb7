package errors_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	errorpages "github.com/sluiceproxy/sluice/middleware/errors"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/telemetry"
)

var update = flag.Bool("update", false, "write the goldens anew")

// echoPage is a page that returns the request.
func echoPage() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintf(w, "%s %s\nHost: %s\nFrom: %s\n", r.Method, r.RequestURI, r.Host, r.RemoteAddr)
		_ = r.Header.Write(w)
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "body %q, %v, length %d\n", body, err, r.ContentLength)
	})
}

func TestReadme(t *testing.T) {
	definition := middlewaretest.Examples(t, "README.md")["pages"]
	pages, err := errorpages.New("pages@file", *definition.Errors, echoPage(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := middlewaretest.Request(t, "GET /cart", "Accept-Language: en", "Cookie: a=b", "X-Forwarded-Proto: https")
	recorder := httptest.NewRecorder()
	pages.Wrap(answers(503, "no")).ServeHTTP(recorder, r)
	equal(t, "status", recorder.Code, 500)
	equal(t, "page", strings.ReplaceAll(recorder.Body.String(), "\r\n", "\n"),
		"GET /500.html?was=503&of=https%3A%2F%2Fexample.com%2Fcart\nHost: example.com\nFrom: "+
			"192.0.2.1:1234\nAccept-Language: en\nbody \"\", <nil>, length 0\n")
}

// TestDocumentedAnswers compares what a client gets with what README says.
func TestDocumentedAnswers(t *testing.T) {
	bad := []string{
		"Set-Cookie", "a=b", "Etag", `"x"`, "Content-Encoding", "gzip", "Content-Length", "3", "X-Secret", "y",
		"Trailer", "X-End",
	}
	page := answers(200, "page", "Content-Type", "text/html", "X-Page", "yes", "Set-Cookie", "page=1")
	for name, test := range map[string]struct {
		config dynamic.ErrorPage
		method string
		next   http.Handler
		page   http.Handler
	}{
		"listed": {
			dynamic.ErrorPage{Status: []string{"404", "500-599"}},
			"GET", answers(503, "bad", bad...),
			page,
		},
		"last of a range": {dynamic.ErrorPage{Status: []string{"500-599"}}, "GET", answers(599, "bad", bad...), page},
		"not listed": {dynamic.ErrorPage{Status: []string{"404", "501-599"}}, "GET", answers(500, "bad", "X-Own",
			"z"), page},
		"nothing listed": {dynamic.ErrorPage{}, "GET", answers(500, "bad", "X-Own", "z"), page},
		"rewritten": {
			dynamic.ErrorPage{Status: []string{"4xx"}, StatusRewrites: map[string]int{"418": 404}},
			"GET", answers(418, "bad", bad...), page,
		},
		"to a redirect": {
			dynamic.ErrorPage{Status: []string{"401"}, StatusRewrites: map[string]int{"401": 302}},
			"GET", answers(401, "bad"), answers(200, "", "Location", "/in"),
		},
		"to no content": {
			dynamic.ErrorPage{Status: []string{"404"}, StatusRewrites: map[string]int{"404": 204}},
			"GET", answers(404, "bad", bad...), page,
		},
		"head": {dynamic.ErrorPage{Status: []string{"404"}}, "HEAD", answers(404, "", bad...), page},
		"post": {dynamic.ErrorPage{Status: []string{"404"}}, "POST", answers(404, "bad", bad...), page},
		"page fails": {
			dynamic.ErrorPage{Status: []string{"404"}},
			"GET", answers(404, "bad", bad...),
			answers(500, "broken page", "X-Page", "yes"),
		},
		"page moved": {
			dynamic.ErrorPage{Status: []string{"404"}},
			"GET", answers(404, "bad", bad...),
			answers(302, "", "Location", "/x"),
		},
		"empty page": {
			dynamic.ErrorPage{Status: []string{"404"}},
			"GET", answers(404, "bad", bad...),
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		},
		"no answer at all": {
			dynamic.ErrorPage{Status: []string{"200"}, StatusRewrites: map[string]int{"200": 404}},
			"GET", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), page,
		},
		"a body without head": {
			dynamic.ErrorPage{Status: []string{"200"}},
			"GET",
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "own")
			}), page,
		},
		"page can't be had": {
			dynamic.ErrorPage{Status: []string{"404"}},
			"GET", answers(404, "bad", bad...),
			refusing(502, "connection refused"),
		},
		"nor one of 599": {
			dynamic.ErrorPage{Status: []string{"599"}},
			"GET", answers(599, "bad"),
			refusing(502, "connection refused"),
		},
		"nor one without body": {
			dynamic.ErrorPage{Status: []string{"404"}, StatusRewrites: map[string]int{"4xx": 204}},
			"GET", answers(404, "bad"), refusing(502, "connection refused"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, client, _ := rig.Serve(t, "h1", build(t, test.config, test.page).Wrap(test.next))
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			response, body, err := do(t, client, request(t, test.method, url+"/x", nil))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, reply(response, body))
		})
	}
}

// refusing is a service without an endpoint.
func refusing(status int, reason string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		telemetry.RecordFrom(r.Context()).Reason = reason
		w.Header().Set("X-Internal", "leak")
		http.Error(w, http.StatusText(status), status)
	})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", "") + ".golden"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, name, got, string(want))
}

func TestErrorsNameTheOption(t *testing.T) {
	for want, config := range map[string]dynamic.ErrorPage{
		"errors.service is missing": {Status: []string{"404"}},
		`errors.status "boo": is no status code from 100 to 599, no range such as 500-599 and no class such as 5xx`: {Service: "s", Status: []string{"boo"}},
		`errors.status "599-500": is a range that ends before it begins, did you mean "500-599"?`:                   {Service: "s", Status: []string{"599-500"}},
		`errors.statusRewrites "x": is no status code`:                                                              {Service: "s", StatusRewrites: map[string]int{"x": 404}},
		`errors.statusRewrites "418": 199 is no status code from 200 to 599`:                                        {Service: "s", StatusRewrites: map[string]int{"418": 199}},
		`errors.statusRewrites "418": 600 is no status code from 200 to 599`:                                        {Service: "s", StatusRewrites: map[string]int{"418": 600}},
		`errors.query: {code} is no placeholder, which are {status}, {originalStatus} and {url}`:                    {Service: "s", Query: "/{code}.html"},
		`errors.query: request target: the path has an invalid percent-encoding`:                                    {Service: "s", Query: "/%zz"},
		`errors.query: request target: the path has an empty or dot segment`:                                        {Service: "s", Query: "/../{status}"},
		`errors.query: request target: the query has a space or control character`:                                  {Service: "s", Query: "/?a b"},
		`errors.errorRequestHeaders: "a b" is no name of a header`:                                                  {Service: "s", ErrorRequestHeaders: []string{"Accept", "a b"}},
		`errors.errorRequestHeaders: "" is no name of a header`:                                                     {Service: "s", ErrorRequestHeaders: []string{"Accept", ""}},
	} {
		pages, err := errorpages.New("p@file", config, answers(200, ""), nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || pages != nil {
			t.Errorf("%s is wanted, the error is %v", want, err)
		}
	}
	if _, err := errorpages.New("p@file", dynamic.ErrorPage{Service: "s"}, nil, nil); err == nil {
		t.Error("a service without a handler is accepted")
	}
}

// TestRequestOfAPage checks the request to the error page service.
func TestRequestOfAPage(t *testing.T) {
	sent := []string{
		"Accept: text/html", "Accept-Encoding: gzip", "Authorization: secret", "Cookie: a=b", "Content-Type: text/css",
		"Content-Length: 4",
		"Content-Encoding: br", "If-None-Match: x", "If-Range: x", "Range: bytes=0-1", "Expect: 100-continue",
		"Connection: keep-alive, upgrade",
		"Upgrade: websocket", "Sec-WebSocket-Key: x", "TE: trailers", "X-Forwarded-For: 198.51.100.1", "X-Own: 1", "X-Own: 2",
	}
	for name, test := range map[string]struct {
		config dynamic.ErrorPage
		want   string
		header http.Header
	}{
		"all headers": {
			dynamic.ErrorPage{Query: "e/{status}/{originalStatus}?{status}#part"},
			"/e/404/418?404",
			http.Header{
				"Accept": {"text/html"}, "Accept-Encoding": {"gzip"}, "Authorization": {"secret"}, "Cookie": {"a=b"},
				"X-Forwarded-For": {"198.51.100.1"}, "X-Own": {"1", "2"},
			},
		},
		"some headers": {
			dynamic.ErrorPage{ErrorRequestHeaders: []string{"x-own", "RANGE", "content-type", "X-None"}},
			"/",
			http.Header{"X-Own": {"1", "2"}, "X-Forwarded-For": nil},
		},
		"with the client": {
			dynamic.ErrorPage{ErrorRequestHeaders: []string{"x-forwarded-for"}},
			"/",
			http.Header{"X-Forwarded-For": {"198.51.100.1"}},
		},
		"no headers":   {dynamic.ErrorPage{ErrorRequestHeaders: []string{}}, "/", http.Header{"X-Forwarded-For": nil}},
		"as of labels": {dynamic.ErrorPage{ErrorRequestHeaders: []string{""}}, "/", http.Header{"X-Forwarded-For": nil}},
		"url in the query": {
			dynamic.ErrorPage{ErrorRequestHeaders: []string{}, Query: "/?rd={url}&s={status}"},
			"/?rd=http%3A%2F%2Fexample.com%2Fa%252Fb%2Fc%3Fd%3De%2Bf%26g%3D%7Bstatus%7D&s=404",
			http.Header{"X-Forwarded-For": nil},
		},
		"url in the path": {
			dynamic.ErrorPage{ErrorRequestHeaders: []string{}, Query: "/of/{url}"},
			"/of/http%3A%2F%2Fexample.com%2Fa%252Fb%2Fc%3Fd%3De%2Bf%26g%3D%7Bstatus%7D",
			http.Header{"X-Forwarded-For": nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got *http.Request
			test.config.Status, test.config.StatusRewrites = []string{"418"}, map[string]int{"418": 404}
			pages := build(t, test.config, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
			next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := canonical.SetPath(r, "/rewritten"); err != nil {
					t.Error(err)
				}
				w.WriteHeader(418)
			})
			r := middlewaretest.Request(t, "PUT /a%2fb/c?d=e+f&g={status}", sent...)
			pages.Wrap(next).ServeHTTP(httptest.NewRecorder(), r)
			if got == nil {
				t.Fatal("there was no request")
			}
			equal(t, "request", []any{
				got.Method, got.RequestURI, got.URL.RequestURI(), got.Host, got.RemoteAddr, got.ProtoMajor,
				got.ContentLength,
			},
				[]any{"GET", test.want, test.want, "example.com", "192.0.2.1:1234", 1, int64(0)})
			equal(t, "headers", got.Header, test.header)
			equal(t, "context", got.Context() == r.Context(), true)
			equal(t, "former header", r.Header.Get("X-Own"), "1")
		})
	}
}

func TestNarrowestRewriteDecides(t *testing.T) {
	pages := build(t, dynamic.ErrorPage{
		Status:         []string{"300-599"},
		StatusRewrites: map[string]int{"400-499": 500, "418": 404, "4xx,5xx": 501, "410-419": 200, "410-418,420": 201},
	}, answers(200, "page"))
	for code, want := range map[int]int{418: 404, 410: 201, 419: 200, 420: 201, 499: 500, 599: 501, 302: 302} {
		recorder := httptest.NewRecorder()
		pages.Wrap(answers(code, "")).ServeHTTP(recorder, middlewaretest.Request(t, "GET /"))
		equal(t, fmt.Sprint(code), recorder.Code, want)
	}
}

// TestRecordNamesTheFailedService demands that the record names the service whose answer was replaced, and why there is
// no page.
func TestRecordNamesTheFailedService(t *testing.T) {
	pageOf := func(service, reason string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			record := telemetry.RecordFrom(r.Context())
			record.Service, record.Endpoint, record.Status, record.Reason, record.Released = service, "198.51.100.9:80", 200,
				reason, true
			record.Tries++
			w.WriteHeader(200)
		})
	}
	for name, test := range map[string]struct {
		reason, page string
		want         string
		counts       map[string]uint64
	}{
		"a page":              {"", "", "", map[string]uint64{"replaced": 1, "failed": 0}},
		"failed for a reason": {"refused", "", "refused", map[string]uint64{"replaced": 1, "failed": 0}},
		"and so did the page": {
			"refused", "hung up", "refused; middleware pages@file: no error page: hung up",
			map[string]uint64{"replaced": 0, "failed": 1},
		},
		"only the page failed": {
			"", "hung up", "middleware pages@file: no error page: hung up",
			map[string]uint64{"replaced": 0, "failed": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, pageOf("pages@file", test.page))
			record := &telemetry.Record{Router: "web@file"}
			next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				record := telemetry.RecordFrom(r.Context())
				record.Service, record.Endpoint, record.Reason, record.Tries = "web@file", "198.51.100.1:80", test.reason, 2
				w.WriteHeader(503)
			})
			r := middlewaretest.Request(t, "GET /")
			pages.Wrap(next).ServeHTTP(httptest.NewRecorder(), r.WithContext(telemetry.WithRecord(r.Context(), record)))
			equal(t, "record", []any{
				record.Router, record.Service, record.Endpoint, record.Tries, record.Reason,
				record.Released,
			},
				[]any{"web@file", "web@file", "198.51.100.1:80", 2, test.want, false})
			equal(t, "counts", pages.Counts(), test.counts)
		})
	}
}
