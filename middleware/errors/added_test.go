package errors_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	errorpages "github.com/sluiceproxy/sluice/middleware/errors"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
)

// TestRequestHeaders has the headers of ingress-nginx's custom errors.
func TestRequestHeaders(t *testing.T) {
	config := *middlewaretest.Examples(t, "README.md")["ingress-pages"].Errors
	config.RequestHeaders = append(config.RequestHeaders,
		dynamic.HeaderValue{Name: "X-Both", Value: "{status}/{originalStatus} of $host{other}"},
		dynamic.HeaderValue{Name: "X-Empty", Value: "$arg_none"}, dynamic.HeaderValue{Name: "X-Given", Value: ""})
	config.ErrorRequestHeaders = []string{"Accept", "X-Given"}
	var got http.Header
	pages := build(t, config, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "page")
	}))
	recorder := httptest.NewRecorder()
	r := middlewaretest.Request(t, "GET /cart?a={status}", "Accept: text/html", "X-Given: 1", "X_Code: 1", "Cookie: a=b")
	pages.Wrap(answers(503, "no")).ServeHTTP(recorder, r)
	equal(t, "status", recorder.Code, http.StatusTeapot)
	equal(t, "request", got, http.Header{
		"X-Code": {"503"}, "X-Original-Uri": {"/cart?a={status}"}, "X-Format": {"text/html"}, "Accept": {"text/html"},
		"X-Both": {"503/503 of example.com{other}"}, "X-Forwarded-For": nil,
	})
}

// TestPageStatus sends pages under their own status over each pair of protocols.
func TestPageStatus(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		for method, statuses := range map[string][]int{
			http.MethodGet: {200, 204, 302, 304, 404, 500}, http.MethodHead: {200, 404},
		} {
			for _, status := range statuses {
				pages := build(t, dynamic.ErrorPage{Status: []string{"503"}, PageStatus: true}, http.HandlerFunc(
					func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("X-Page", "yes")
						w.WriteHeader(status)
						if status != http.StatusNoContent && status != http.StatusNotModified {
							_, _ = io.WriteString(w, "page")
						}
					}))
				g := rig.New(t, rig.Setup{Wrap: pages.Wrap, Upstream: upstream, Endpoint: answers(503, "no").ServeHTTP})
				response, body, err := g.Do(client, g.Request(method, "/", nil))
				if err != nil {
					t.Fatal(err)
				}
				want := ""
				if status != 204 && status != 304 && method == http.MethodGet {
					want = "page"
				}
				if response.StatusCode != status || body != want || response.Header.Get("X-Page") != "yes" {
					t.Errorf("%s, page with %d: %d %q %v", method, status, response.StatusCode, body, response.Header)
				}
			}
		}
	})
}

func TestRequestHeadersThatMakeNoSense(t *testing.T) {
	one := func(name, value string) []dynamic.HeaderValue {
		return []dynamic.HeaderValue{{Name: name, Value: value}}
	}
	for want, config := range map[string]dynamic.ErrorPage{
		`errors.requestHeaders[0]: "a b" is no name of a header`:                  {RequestHeaders: one("a b", "")},
		"errors.requestHeaders[0]: Content-Length frames the request":             {RequestHeaders: one("Content-Length", "1")},
		"errors.requestHeaders[0]: the value of A: the variable $none is unknown": {RequestHeaders: one("A", "{status}$none")},
		"errors.requestHeaders[0]: the value of A: there is no pattern that $1":   {RequestHeaders: one("A", "$1{status}")},
		"errors.pageStatus and errors.statusRewrites exclude one another": {
			PageStatus: true, StatusRewrites: map[string]int{"404": 200},
		},
	} {
		config.Service = "pages"
		_, err := errorpages.New("x", config, answers(200, ""), nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
