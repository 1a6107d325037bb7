package forwarded_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/forwarded"
)

// late is a body whose trailers come with its end.
type late struct {
	io.Reader

	request *http.Request
	trailer http.Header
}

// Read sets the trailers at the end.
func (l *late) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err != nil {
		l.request.Trailer = l.trailer
	}
	return n, err
}

// Close does nothing.
func (*late) Close() error { return nil }

func TestRemoveTrailers(t *testing.T) {
	for _, announced := range []bool{true, false} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		r.ContentLength = -1
		forged := http.Header{"X-User": {"forged"}, "X_user": {"forged"}, "x-USER": {"forged"}, "X-Sum": {"1"}}
		if announced {
			r.Trailer = forged
		}
		r.Body = &late{Reader: strings.NewReader("body"), request: r, trailer: forged}
		forwarded.RemoveTrailers(r, "X-User")
		if announced && len(r.Trailer) != 1 {
			t.Errorf("the trailers are %v before the body was read", r.Trailer)
		}
		forged["X-User"] = []string{"forged"} // A server enters them as they come.
		if text, err := io.ReadAll(r.Body); string(text) != "body" || err != nil {
			t.Errorf("the body is %q, %v", text, err)
		}
		if diff := cmp.Diff(http.Header{"X-Sum": {"1"}}, r.Trailer); diff != "" {
			t.Error(diff)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("body"))
	body := r.Body
	if forwarded.RemoveTrailers(r, "X-User"); r.Body != body {
		t.Error("a body without trailers is wrapped")
	}
}
