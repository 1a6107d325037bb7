package forward

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPromises keep what is read of a body for another try, and nothing more once there is none.
func TestPromises(t *testing.T) {
	const limit = 100
	begin := func() *requestBody {
		r := httptest.NewRequestWithContext(t.Context(), "PUT", "/", io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20))))
		r.ContentLength = -1
		body := newRequestBody(r)
		body.keep(limit, new(buffers))
		return body
	}
	read := func(body *requestBody, n int) (kept int) {
		t.Helper()
		if _, err := io.ReadFull(body, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		return len(body.kept)
	}

	waiting := begin()
	equal(t, "kept at first", read(waiting, limit), limit)
	equal(t, "promised", waiting.promise(), true)
	equal(t, "kept in a wait", read(waiting, 1000), limit+1000)
	equal(t, "confirmed", waiting.confirm(), true)
	equal(t, "kept on the way to another try", read(waiting, promiseBytes), limit+1000+promiseBytes)
	waiting.revoke(waiting)
	equal(t, "kept for nobody", read(waiting, 1), 0)
	equal(t, "promised again", waiting.promise(), false)

	flooded := begin()
	equal(t, "promised", flooded.promise(), true)
	equal(t, "kept of a flood", read(flooded, promiseBytes+1), 0)
	equal(t, "confirmed", flooded.confirm(), false)

	next := begin()
	read(next, 10)
	equal(t, "promised", next.promise() && next.confirm(), true)
	next.halt()
	again := next.again()
	equal(t, "kept for the next try", read(again, limit), limit)
	equal(t, "kept beyond the limit", read(again, 1), 0)
}
