package forwardauth

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// echo is a server that lets pass and says what it was shown.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	w.Header().Set("X-Shown", string(body))
	if err != nil {
		w.WriteHeader(http.StatusTeapot)
	}
}

// TestBodies has bodies around the limit, with their length announced and without.
func TestBodies(t *testing.T) {
	for name, test := range map[string]struct {
		forward *int64
		size    int
		want    int
	}{
		"not shown":          {nil, 10, http.StatusOK},
		"no limit":           {pointer(int64(-1)), 100000, http.StatusOK},
		"below":              {pointer(int64(10)), 9, http.StatusOK},
		"at the limit":       {pointer(int64(10)), 10, http.StatusOK},
		"beyond":             {pointer(int64(10)), 11, http.StatusUnauthorized},
		"far beyond":         {pointer(int64(10)), 1 << 20, http.StatusUnauthorized},
		"nothing may come":   {pointer(int64(0)), 1, http.StatusUnauthorized},
		"nothing comes":      {pointer(int64(0)), 0, http.StatusOK},
		"the largest number": {pointer(int64(1<<63 - 1)), 10, http.StatusOK},
	} {
		for _, chunked := range []bool{false, true} {
			config := dynamic.ForwardAuth{
				ForwardBody: test.forward != nil, MaxBodySize: test.forward,
				AuthResponseHeaders: []string{"X-Shown"},
			}
			text := strings.Repeat("x", test.size)
			r := with(t, text, "POST /", "Expect: 100-continue")
			if chunked {
				r.ContentLength, r.TransferEncoding = -1, []string{"chunked"}
				delete(r.Header, "Content-Length")
			}
			step := named(t, config, echo)
			o := send(t, step, r, nil)
			if o.Code != test.want || (o.service != nil) != (test.want == http.StatusOK) || test.want != http.StatusOK &&
				step.Counts()["refused"] != 1 {
				t.Errorf("%s, chunked %v: answers %d, %s", name, chunked, o.Code, o.record.Reason)
				continue
			}
			if o.service == nil {
				if !strings.Contains(o.record.Reason, "the request's body is larger than maxBodySize") ||
					o.Body.String() != "Unauthorized\n" {
					t.Errorf("%s: %q, %q", name, o.Body, o.record.Reason)
				}
				continue
			}
			if o.body != text {
				t.Errorf("%s: the service gets %d bytes", name, len(o.body))
			}
			if shown := o.service.Header.Get("X-Shown"); test.forward == nil && shown != "" || test.forward != nil &&
				shown != text {
				t.Errorf("%s: the server gets %d bytes", name, len(shown))
			}
			if test.forward == nil {
				if (o.service.ContentLength < 0) != chunked || o.service.Header.Get("Expect") == "" {
					t.Errorf("%s: length %d, headers %v", name, o.service.ContentLength, o.service.Header)
				}
			} else if o.service.ContentLength != int64(test.size) || o.service.TransferEncoding != nil ||
				o.service.Header.Get("Expect") != "" {
				t.Errorf("%s: length %d %s, headers %v", name, o.service.ContentLength, o.service.TransferEncoding,
					o.service.Header)
			}
		}
	}
}

// announcing is a body that must not be read.
type announcing struct{ t *testing.T }

// Read fails the test.
func (a announcing) Read([]byte) (int, error) {
	a.t.Error("the body is read")
	return 0, io.EOF
}

// Close does nothing.
func (announcing) Close() error { return nil }

// TestUnneededBodiesAreNotRead has requests with Expect: 100-continue.
func TestUnneededBodiesAreNotRead(t *testing.T) {
	for name, config := range map[string]dynamic.ForwardAuth{
		"refused by the server": {}, "announced to be too large": {ForwardBody: true, MaxBodySize: pointer(int64(4))},
	} {
		r := middlewaretest.Request(t, "POST /", "Content-Length: 5", "Expect: 100-continue")
		r.Body = announcing{t}
		if o := send(t, named(t, config, answering(http.StatusUnauthorized, "")), r, nil); o.service != nil ||
			o.Code != http.StatusUnauthorized {
			t.Errorf("%s: answers %d", name, o.Code)
		}
	}
}

// TestNoBody has requests that can't have one, by the way in which they say so.
func TestNoBody(t *testing.T) {
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		step := named(t, dynamic.ForwardAuth{ForwardBody: true, AuthResponseHeaders: []string{"X-Shown"}}, echo)
		r := middlewaretest.Request(t, "GET /")
		r.Body = body
		if o := send(t, step, r, nil); o.service == nil || o.service.Body != body || o.service.Header.Get("X-Shown") != "" {
			t.Errorf("answers %d", o.Code)
		}
	}
}

// TestTrailersComeBehindTheBody has a service that gets the trailers of a body which was read before.
func TestTrailersComeBehindTheBody(t *testing.T) {
	step := named(t, dynamic.ForwardAuth{ForwardBody: true}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if len(r.Trailer) > 0 || r.ContentLength != 3 {
			t.Errorf("the server gets %d bytes and %v", r.ContentLength, r.Trailer)
		}
	})
	r := middlewaretest.Request(t, "POST /", "Transfer-Encoding: chunked")
	r.Body = &late{strings.NewReader("abc"), r}
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if diff := cmp.Diff(forgedTrailers(), r.Trailer); diff != "" || string(body) != "abc" || err != nil ||
			r.ContentLength != -1 {
			t.Errorf("%q, %v, length %d: %s", body, err, r.ContentLength, diff)
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
	if step.Counts()["passed"] != 1 {
		t.Error("the request did not pass")
	}
}

// failing is a body that ends with an error.
type failing struct {
	io.Reader
	err error
}

// Read fails at the end.
func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = f.err
	}
	return n, err
}

// Close does nothing.
func (*failing) Close() error { return nil }

// TestUnreadableBodies has bodies that fail: neither the server nor the service gets them.
func TestUnreadableBodies(t *testing.T) {
	for name, test := range map[string]struct {
		err          error
		want, record int
	}{
		"cut off":   {io.ErrUnexpectedEOF, 200, telemetry.StatusClientClosedRequest}, // Nothing is written.
		"too slow":  {os.ErrDeadlineExceeded, http.StatusRequestTimeout, 0},
		"too large": {&http.MaxBytesError{Limit: 3}, http.StatusRequestEntityTooLarge, 0},
		"malformed": {errors.New("invalid chunk"), http.StatusBadRequest, 0},
	} {
		step := named(t, dynamic.ForwardAuth{ForwardBody: true}, func(http.ResponseWriter, *http.Request) {
			t.Errorf("%s: the server got a request", name)
		})
		r := with(t, "abcdef", "POST /")
		r.Body = &failing{strings.NewReader("abc"), test.err}
		o := send(t, step, r, nil)
		if o.service != nil || o.Code != test.want || o.record.Status != test.record || !strings.HasPrefix(o.record.Reason,
			"middleware auth@file: reading the request's body: ") {
			t.Errorf("%s: answers %d, records %d %q", name, o.Code, o.record.Status, o.record.Reason)
		}
	}
}
