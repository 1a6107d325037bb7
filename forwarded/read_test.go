package forwarded

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// read returns a request as a server reads it.
func read(t testing.TB, head string) *http.Request {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n\r\n")))
	if err != nil {
		t.Fatalf("reading %q: %v", head, err)
	}
	return r
}
