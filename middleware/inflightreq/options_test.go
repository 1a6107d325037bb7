package inflightreq_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/inflightreq"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// TestNginx limits as limit_conn of nginx does: by address, with 503, and without clients that are excluded.
func TestNginx(t *testing.T) {
	step, err := inflightreq.New("m@file", dynamic.InFlightReq{
		Amount: 1, StatusCode: http.StatusServiceUnavailable, ExcludedSourceRange: []string{"192.0.2.0/24"},
		SourceCriterion: &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for remote, want := range map[string]int{"198.51.100.1:1": 503, "192.0.2.7:1": 204} {
		var handler http.Handler
		inner := 0
		handler = step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/outer" {
				again := httptest.NewRecorder()
				r := middlewaretest.Request(t, "GET /inner")
				r.RemoteAddr = remote
				handler.ServeHTTP(again, r)
				inner = again.Code
			}
			w.WriteHeader(http.StatusNoContent)
		}))
		w, r := httptest.NewRecorder(), middlewaretest.Request(t, "GET /outer")
		r.RemoteAddr = remote
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusNoContent || inner != want {
			t.Errorf("%s: %d, then %d, want %d", remote, w.Code, inner, want)
		}
	}
	if got := step.Counts()["refused"]; got != 1 {
		t.Errorf("%d are refused", got)
	}
}

func TestRefusesOptions(t *testing.T) {
	for want, config := range map[string]dynamic.InFlightReq{
		"inFlightReq.statusCode 399 is not the status of an error": {Amount: 1, StatusCode: 399},
		`inFlightReq.excludedSourceRange: "local" is neither`:      {Amount: 1, ExcludedSourceRange: []string{"local"}},
	} {
		if _, err := inflightreq.New("m@file", config); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
