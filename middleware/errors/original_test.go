package errors_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/replay"
	errorpages "github.com/sluiceproxy/sluice/middleware/errors"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
)

// reads returns a handler that answers 404 once it has read so many bytes of a body, all of it if that is negative.
func reads(bytes int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bytes < 0 {
			_, _ = io.Copy(io.Discard, r.Body)
		} else {
			_, _ = io.CopyN(io.Discard, r.Body, bytes)
		}
		http.Error(w, "none", http.StatusNotFound)
	})
}

// TestOriginalRequest sends the page service the method, the query and the body of requests, read or not.
func TestOriginalRequest(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %s %d %q %v", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"),
			r.Header.Get("If-None-Match"), r.ContentLength, body, err)
	})
	// Without Len, the client sends chunks.
	chunked := func(text string) io.Reader { return io.MultiReader(strings.NewReader(text)) }
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		for name, test := range map[string]struct {
			query string
			next  http.Handler
			body  io.Reader
			want  string
		}{
			"unread":         {"/", reads(0), strings.NewReader("abc"), `POST /?q text/x "e" 3 "abc" <nil>`},
			"in part":        {"/p?x=1", reads(2), strings.NewReader("abc"), `POST /p?x=1 text/x "e" 3 "abc" <nil>`},
			"whole":          {"", reads(-1), strings.NewReader("abc"), `POST /?q text/x "e" 3 "abc" <nil>`},
			"chunked":        {"/", reads(-1), chunked("abc"), `POST /?q text/x "e" -1 "abc" <nil>`},
			"chunked unread": {"/", reads(0), chunked("abc"), `POST /?q  "e" 0 "" <nil>`},
			"largest":        {"/", reads(-1), strings.NewReader("abcd"), `POST /?q text/x "e" 4 "abcd" <nil>`},
			"too large":      {"/", reads(-1), strings.NewReader("abcde"), `POST /?q  "e" 0 "" <nil>`},
			"chunks":         {"/", reads(-1), chunked("abcdefgh"), `POST /?q  "e" 0 "" <nil>`},
			"none":           {"/", reads(-1), nil, `POST /?q text/x "e" 0 "" <nil>`},
		} {
			t.Run(name, func(t *testing.T) {
				endpoint := rig.Listen(t, upstream, page)
				pages := build(t, dynamic.ErrorPage{
					Status: []string{"404"}, Query: test.query, OriginalRequest: true, MaxRequestBodyBytes: 4,
				}, rig.Service(t, "pages@file", endpoint.URL))
				url, c, _ := rig.Serve(t, client, pages.Wrap(test.next))
				r := request(t, http.MethodPost, url+"/missing?q", test.body)
				r.Header.Set("Content-Type", "text/x")
				r.Header.Set("If-None-Match", `"e"`)
				_, body, err := do(t, c, r)
				want := test.want
				if test.body == nil { // Nothing describes a body that is none.
					want = strings.Replace(want, "text/x", "", 1)
				}
				if err != nil || body != want {
					t.Errorf("%s, %v, want %s", body, err, want)
				}
			})
		}
	})
}

// TestBodiesShareMemory has a request come while all memory is lent to another one: its page is requested without body.
func TestBodiesShareMemory(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%d %q %v", r.ContentLength, body, err)
	})
	const bytes = 4 << 10 // The least that is lent.
	memory := replay.NewMemory(bytes)
	var wrapped [2]http.Handler
	serve := func(i int) string {
		w := httptest.NewRecorder()
		wrapped[i].ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("abc")))
		return w.Body.String()
	}
	for i := range wrapped {
		pages, err := errorpages.New("pages@file", dynamic.ErrorPage{
			Service: "pages", Status: []string{"404"}, OriginalRequest: true,
		}, page, memory)
		if err != nil {
			t.Fatal(err)
		}
		wrapped[i] = pages.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if i == 0 {
				equal(t, "while another one has the memory", serve(1), `0 "" <nil>`)
			}
			w.WriteHeader(http.StatusNotFound)
		}))
	}
	for range 2 {
		equal(t, "with memory", serve(0), `3 "abc" <nil>`)
		equal(t, "again", serve(1), `3 "abc" <nil>`)
		equal(t, "what is left", memory.Left(), int64(bytes))
	}
}

// TestOwnErrors leaves what endpoints answer.
func TestOwnErrors(t *testing.T) {
	config := dynamic.ErrorPage{Status: []string{"403", "502", "503"}, OwnErrors: true}
	for name, test := range map[string]struct {
		next func(t *testing.T) http.Handler
		want string
	}{
		"endpoint": {func(t *testing.T) http.Handler {
			return rig.Service(t, "web@file", rig.Listen(t, "h1", answers(503, "busy")).URL)
		}, "503 busy"},
		"refused":    {func(t *testing.T) http.Handler { return rig.Service(t, "web@file", refusingURL(t)) }, "502 page"},
		"middleware": {func(*testing.T) http.Handler { return answers(403, "no") }, "403 page"},
	} {
		t.Run(name, func(t *testing.T) {
			url, client, _ := rig.Serve(t, "h1", build(t, config, answers(200, "page")).Wrap(test.next(t)))
			response, body, err := do(t, client, request(t, http.MethodGet, url+"/", nil))
			if err != nil || fmt.Sprint(response.StatusCode, " ", body) != test.want {
				t.Errorf("%v %q, %v, want %s", response.StatusCode, body, err, test.want)
			}
		})
	}
}

// TestErrorResponseHeaders keeps headers of the replaced answer that the page does not have.
func TestErrorResponseHeaders(t *testing.T) {
	config := dynamic.ErrorPage{Status: []string{"401"}, ErrorResponseHeaders: []string{"www-authenticate", "X-Own"}}
	pages := build(t, config, answers(200, "page", "X-Own", "page"))
	next := answers(401, "no", "WWW-Authenticate", "Basic", "WWW-Authenticate", "Digest", "X-Own", "next",
		"X-Other", "next")
	url, client, _ := rig.Serve(t, "h1", pages.Wrap(next))
	response, _, err := do(t, client, request(t, http.MethodGet, url+"/", nil))
	if err != nil {
		t.Fatal(err)
	}
	got := [][]string{
		response.Header.Values("WWW-Authenticate"), response.Header.Values("X-Own"), response.Header.Values("X-Other"),
	}
	equal(t, "headers", got, [][]string{{"Basic", "Digest"}, {"page"}, nil})
}

func TestOriginalRequestRefusals(t *testing.T) {
	for want, config := range map[string]dynamic.ErrorPage{
		"maxRequestBodyBytes -1 is negative":       {OriginalRequest: true, MaxRequestBodyBytes: -1},
		"maxRequestBodyBytes needs":                {MaxRequestBodyBytes: 1},
		"errorResponseHeaders: \"a b\" is no name": {ErrorResponseHeaders: []string{"a b"}},
		"errorResponseHeaders: Content-Type is":    {ErrorResponseHeaders: []string{"Content-Type"}},
		"errorResponseHeaders: Connection is":      {ErrorResponseHeaders: []string{"Connection"}},
	} {
		config.Service = "pages"
		if _, err := errorpages.New("pages@file", config, answers(200, ""), nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %s", err, want)
		}
	}
}
