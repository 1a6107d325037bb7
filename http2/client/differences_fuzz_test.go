package client_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/client"
)

// observer is a handler that notes what it sees, and answers as the query says.
type observer struct {
	mutex sync.Mutex
	seen  string
}

func (o *observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	has := func(mode string) bool { return strings.Contains(r.URL.RawQuery, mode) }
	if has("early") {
		w.Header()["Date"] = nil
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "no")
		return
	}
	body, err := io.ReadAll(r.Body)
	header := maps.Clone(r.Header)
	for _, name := range allowed() {
		delete(header, name)
	}
	o.mutex.Lock()
	o.seen = fmt.Sprintf("%s %q host=%q header=%q length=%d trailer=%q body=%d broken=%v",
		r.Method, r.URL.String(), r.Host, header, r.ContentLength, trailerOf(r.Trailer), len(body), err != nil)
	o.mutex.Unlock()
	h := w.Header()
	h["Date"] = nil
	h.Set("Content-Type", "text/plain")
	if has("hints") {
		h.Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
	}
	if has("announced") {
		h.Set("Trailer", "X-A")
	}
	switch {
	case has("none"):
		w.WriteHeader(http.StatusNoContent)
		return
	case has("same"):
		w.WriteHeader(http.StatusNotModified)
		return
	case has("missing"):
		w.WriteHeader(http.StatusNotFound)
	case has("length"):
		h.Set("Content-Length", fmt.Sprint(len(body)))
	}
	_, _ = w.Write(body)
	if has("flush") {
		_ = http.NewResponseController(w).Flush()
	}
	if has("large") {
		_, _ = io.WriteString(w, strings.Repeat("0123456789", 20_000))
	}
	if has("abort") {
		panic(http.ErrAbortHandler)
	}
	if has("announced") {
		h.Set("X-A", "1")
	}
	if has("late") {
		h.Set(http.TrailerPrefix+"X-B", "2")
	}
}

// allowed are fields that net/http's Transport adds by itself. Values of Connection and of TE that HTTP/2 does not have
// are left out by ours, while it sends or refuses them; no request here has any.
func allowed() []string { return []string{"User-Agent", "Accept-Encoding"} }

// trailerOf leaves out names without values, and makes none of an empty one.
func trailerOf(trailer http.Header) http.Header {
	trailer = maps.Clone(trailer)
	maps.DeleteFunc(trailer, func(_ string, values []string) bool { return len(values) == 0 })
	if len(trailer) == 0 {
		return nil
	}
	return trailer
}

// difference is a pair of clients of one handler.
type difference struct {
	observer observer
	rig      *rig
	other    http.Transport
}

func newDifference(t testing.TB) *difference {
	d := new(difference)
	d.rig = serverOf(t, client.Config{}, d.observer.ServeHTTP)
	d.other.Protocols = new(http.Protocols)
	d.other.Protocols.SetUnencryptedHTTP2(true)
	d.other.DisableCompression = true
	dial := d.rig.dial
	d.other.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	t.Cleanup(d.other.CloseIdleConnections)
	return d
}

// compiled makes a request of bytes.
func compiled(ctx context.Context, code []byte) *http.Request {
	at := func(n int) int {
		if n < len(code) {
			return int(code[n])
		}
		return 0
	}
	modes := []string{
		"", "hints", "none", "same", "missing", "length", "flush", "large", "abort", "announced", "late", "early",
	}
	method := []string{"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"}[at(0)%8]
	paths := []string{"/", "/a//b", "/%2f?", "/*", "/a%20b/"}
	path := paths[at(1)%len(paths)] + "?" + modes[at(2)%len(modes)] + "&" + modes[at(3)%len(modes)]
	var body io.Reader
	kind := at(4) % 5
	text := strings.Repeat("x", at(5)*[]int{1, 300}[at(6)%2])
	switch kind {
	case 1:
		body = strings.NewReader(text)
	case 2, 3, 4:
		body = streamed(strings.NewReader(text))
	}
	if method == "HEAD" || method == "GET" {
		body = nil
	}
	r := request(ctx, method+" "+path, body)
	if body != nil {
		switch kind {
		case 3:
			r.ContentLength = int64(len(text))
		case 4:
			r.ContentLength, r.Trailer = -1, http.Header{"X-T": {"t"}, "X-U": nil}
		}
	}
	names := []string{"X-A", "Cookie", "Accept", "Keep-Alive", "Authorization", "x-lower", "X-B"}
	for _, b := range code[min(7, len(code)):min(20, len(code))] {
		name := names[int(b)%len(names)]
		values := []string{"a", "trailers", "", strings.Repeat("y", int(b)), "a=b; c=d"}
		value := values[int(b)/16%5]
		if name == "Cookie" && value == "" {
			continue // The Transport drops it, since it sends each pair of a Cookie as a field of its own.
		}
		r.Header[name] = append(r.Header[name], value)
	}
	if at(6)%5 == 0 {
		r.Header["Te"] = []string{"trailers"}
	}
	if at(6)%3 == 0 {
		r.Host = "other.example:81"
	}
	return r
}

// outcome sends a request, and returns what the handler saw and what came of it.
func (d *difference) outcome(through http.RoundTripper, code []byte) string {
	ctx, cancel := context.WithTimeout(context.Background(), http1test.Timeout)
	defer cancel()
	d.observer.mutex.Lock()
	d.observer.seen = ""
	d.observer.mutex.Unlock()
	response, err := through.RoundTrip(compiled(ctx, code))
	if err != nil {
		return "refused"
	}
	defer response.Body.Close() //nolint:errcheck // a test's
	body, err := io.ReadAll(response.Body)
	d.observer.mutex.Lock()
	defer d.observer.mutex.Unlock()
	names := slices.Sorted(maps.Keys(response.Header))
	text := fmt.Sprintf("%s %s", d.observer.seen, response.Status)
	for _, name := range names {
		text += fmt.Sprintf(" %s=%q", name, response.Header[name])
	}
	if err != nil {
		return text + " broken"
	}
	return text + fmt.Sprintf(" body=%d trailer=%q", len(body), trailerOf(response.Trailer))
}

// FuzzDifferences sends the same requests by net/http's Transport and by ours to the same handler.
func FuzzDifferences(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{1, 1, 5, 6, 1, 9, 1, 7, 23, 99})
	f.Add([]byte{2, 2, 5, 0, 0, 0, 0})
	f.Add([]byte{3, 3, 7, 9, 2, 200, 1, 0, 50, 3})
	f.Add([]byte{4, 4, 9, 10, 4, 50, 1, 19})
	f.Add([]byte{1, 0, 8, 7, 3, 250, 1})
	f.Add([]byte{1, 0, 8, 11, 5, 250, 1})
	f.Add([]byte{6, 0, 11, 0, 3, 250, 0})
	for n := range byte(12) {
		f.Add([]byte{n, n, n, n / 2, n, n, n, n, n * 16, n * 21})
	}
	d := newDifference(f)
	f.Fuzz(func(t *testing.T, code []byte) {
		if diff := cmp.Diff(d.outcome(&d.other, code), d.outcome(d.rig.upstream, code)); diff != "" {
			t.Errorf("theirs and ours: %s", diff)
		}
	})
}
