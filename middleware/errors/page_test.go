package errors_test

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
)

// TestHeadOfAPage demands that the response to HEAD waits for the head of the page alone.
func TestHeadOfAPage(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nX-Page: yes\r\n"
	for name, page := range map[string]func(t *testing.T) string{
		"whole":   func(t *testing.T) string { return scripted(t, says(head+"Content-Length: 4\r\n\r\npage", false)) },
		"no body": func(t *testing.T) string { return scripted(t, says(head+"Content-Length: 4\r\n\r\n", true)) },
		"half":    func(t *testing.T) string { return scripted(t, says(head+"Content-Length: 4\r\n\r\nha", true)) },
		"stream": func(t *testing.T) string {
			return scripted(t, says(head+"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", true))
		},
		"large h2": func(t *testing.T) string {
			return rig.Listen(t, "h2", answers(200, string(make([]byte, 1<<20)), "X-Page", "yes")).URL
		},
	} {
		for _, front := range []string{"h1", "h2", "h2c"} {
			t.Run(name+" "+front, func(t *testing.T) {
				t.Parallel()
				pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, rig.Service(t, "pages@file", page(t)))
				url, client, records := rig.Serve(t, front, pages.Wrap(answers(500, "bad")))
				response, body, err := do(t, client, request(t, http.MethodHead, url+"/", nil))
				if err != nil {
					t.Fatal(err)
				}
				length := int64(4)
				if name == "stream" || name == "large h2" {
					length = -1
				}
				equal(t, "answer", []any{response.StatusCode, body, response.Header.Get("X-Page"), response.ContentLength},
					[]any{500, "", "yes", length})
				equal(t, "reason", (<-records).Reason, "")
				equal(t, "counts", pages.Counts(), map[string]uint64{"replaced": 1, "failed": 0})
			})
		}
	}
}

// TestStatusOfTheRecord demands that an endpoint's own 499 is replaced like any other answer, whatever the record means
// by it.
func TestStatusOfTheRecord(t *testing.T) {
	for name, page := range map[string]http.Handler{
		"written": answers(200, "page"), "empty": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	} {
		t.Run(name, func(t *testing.T) {
			pages := build(t, dynamic.ErrorPage{Status: []string{"4xx"}, StatusRewrites: map[string]int{"499": 403}}, page)
			endpoint := rig.Listen(t, "h1", answers(499, "bad"))
			url, client, _ := rig.Serve(t, "h1", pages.Wrap(rig.Service(t, "web@file", endpoint.URL)))
			response, _, err := do(t, client, request(t, http.MethodGet, url+"/", nil))
			if err != nil || response.StatusCode != 403 {
				t.Errorf("got %+v, %v", response, err)
			}
			equal(t, "counts", pages.Counts(), map[string]uint64{"replaced": 1, "failed": 0})
		})
	}
}
