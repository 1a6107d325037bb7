package intercept_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/sluiceproxy/sluice/httpio/intercept"
)

// unavailable discards responses with status 503.
type unavailable struct{ intercept.Writer }

func (*unavailable) Decide(status int) (int, intercept.Decision) {
	if status == http.StatusServiceUnavailable {
		return status, intercept.Discard
	}
	return status, intercept.Pass
}

func Example() {
	service := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "no endpoint", http.StatusServiceUnavailable)
	})
	fallback := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := new(unavailable)
		u.Decider = u
		u.Reset(w)
		u.Serve(service, u, r)
		if u.Begin() == intercept.Discard {
			u.Restore()
			_, _ = io.WriteString(w, "the fallback's response")
		}
	})
	recorder := httptest.NewRecorder()
	fallback.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/", nil)) //nolint:noctx // An example.
	fmt.Println(recorder.Code, recorder.Body, recorder.Header().Get("Retry-After") == "")
	// Output: 200 the fallback's response true
}
