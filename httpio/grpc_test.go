package httpio_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/httpio"
)

func TestIsGRPC(t *testing.T) {
	for text, want := range map[string]bool{
		"application/grpc": true, "application/grpc+proto": true, "Application/GRPC": true, "application/grpc; a=b": true,
		"application/grpc;a=b": true, "application/grpc-web": false, "application/grpc-web+proto": false, "text/plain": false,
		"": false, "application/grp": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		r.Header.Set("Content-Type", text)
		if got := httpio.IsGRPC(r); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// statusReader is a writer that decides by statuses, below one that wraps it.
type statusReader struct{ http.ResponseWriter }

func (statusReader) ReadsStatus() {}

type layer struct{ http.ResponseWriter }

func (w layer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestError(t *testing.T) {
	for status, code := range map[int]string{
		400: "13", 401: "16", 403: "7", 404: "12", 429: "14", 500: "2", 502: "14", 503: "14", 504: "14", 418: "2",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		w := httptest.NewRecorder()
		w.Header().Set("Content-Length", "1")
		if sent := httpio.Error(w, r, status, "why"); sent != status || w.Code != status || w.Body.String() != "why" {
			t.Errorf("%d: sent %d, %d with %q", status, sent, w.Code, w.Body)
		}
		r.Header.Set("Content-Type", "application/grpc")
		w = httptest.NewRecorder()
		if sent := httpio.Error(w, r, status, "100 % é"); sent != 200 || w.Code != 200 || w.Body.Len() > 0 {
			t.Errorf("%d: sent %d, %d with %q", status, sent, w.Code, w.Body)
		}
		want := http.Header{
			"Content-Type": {"application/grpc"}, "Grpc-Status": {code}, "Grpc-Message": {"100 %25 %C3%A9"},
		}
		if diff := cmp.Diff(want, w.Header()); diff != "" {
			t.Errorf("%d (-want +got):\n%s", status, diff)
		}
		w = httptest.NewRecorder()
		if sent := httpio.Error(layer{statusReader{w}}, r, status, "why"); sent != status || w.Code != status {
			t.Errorf("%d: a writer that reads statuses gets %d, %d", status, sent, w.Code)
		}
	}
}

// TestErrorMessageHasNoFinalLineBreak shows that the line break at the end of a text is no part of Grpc-Message.
func TestErrorMessageHasNoFinalLineBreak(t *testing.T) {
	for text, want := range map[string]string{"why\n": "why", "two\nlines\r\n": "two%0Alines", "\n": ""} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		r.Header.Set("Content-Type", "application/grpc")
		w := httptest.NewRecorder()
		httpio.Error(w, r, http.StatusServiceUnavailable, text)
		if got := w.Header().Get("Grpc-Message"); got != want {
			t.Errorf("%q: the message is %q, want %q", text, got, want)
		}
	}
}
