package buffering_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/buffering"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
)

// TestRequestOnly buffers a request, and passes its response as it comes.
func TestRequestOnly(t *testing.T) {
	empty := temporary(t)
	step := newBuffering(t, dynamic.Buffering{RequestOnly: true, MaxRequestBodyBytes: 100, MemRequestBodyBytes: 10})
	for size, want := range map[int]int{0: 200, 5: 200, 50: 200, 100: 200, 101: 413} {
		text := strings.Repeat("x", size)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", iotest.OneByteReader(strings.NewReader(text)))
		r.ContentLength = -1
		w := httptest.NewRecorder()
		step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != int64(size) {
				t.Errorf("size %d: the length is %d", size, r.ContentLength)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || string(body) != text {
				t.Errorf("size %d: %q, %v", size, body, err)
			}
			_, _ = io.WriteString(w, "first")
			_ = http.NewResponseController(w).Flush()
		})).ServeHTTP(w, r)
		if w.Code != want || w.Flushed != (want == http.StatusOK) {
			t.Errorf("size %d: status %d, flushed %t", size, w.Code, w.Flushed)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", iotest.ErrReader(errors.New("broken")))
	r.ContentLength = -1
	w := httptest.NewRecorder()
	step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("half a request is passed on")
	})).ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("a body that breaks off: status %d", w.Code)
	}
	empty()
}

// TestRequestOnlyStreams has the client read a part of a response that does not end before.
func TestRequestOnlyStreams(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		read := make(chan struct{})
		step := newBuffering(t, dynamic.Buffering{RequestOnly: true})
		endpoint := func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(body)
			_ = http.NewResponseController(w).Flush()
			<-read
			_, _ = io.WriteString(w, " and the rest")
		}
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: endpoint})
		response, err := g.Client(client).Do(g.Request(http.MethodPost, "/", strings.NewReader("first")))
		if err != nil {
			close(read)
			t.Fatal(err)
		}
		defer response.Body.Close() //nolint:errcheck // a test's
		first := make([]byte, len("first"))
		_, err = io.ReadFull(response.Body, first)
		close(read)
		rest, restErr := io.ReadAll(response.Body)
		if err != nil || restErr != nil || string(first)+string(rest) != "first and the rest" {
			t.Errorf("%q, %v, then %q, %v", first, err, rest, restErr)
		}
	})
}

func TestRequestOnlyExcludes(t *testing.T) {
	for _, config := range []dynamic.Buffering{
		{RequestOnly: true, MaxResponseBodyBytes: 1},
		{RequestOnly: true, MemResponseBodyBytes: 1},
		{RequestOnly: true, RetryExpression: "IsNetworkError()"},
	} {
		_, err := buffering.New("x", config, buffering.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "buffering.requestOnly excludes") {
			t.Errorf("%+v: %v", config, err)
		}
	}
}
