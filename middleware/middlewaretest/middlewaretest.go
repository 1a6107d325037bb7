// Package middlewaretest has helpers for the tests of middlewares: the examples of a README, requests as a server reads
// them, and a minimal response writer.
package middlewaretest

import (
	"bufio"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// Examples loads every YAML example of a README and returns the declared middlewares by name. It fails the test if one
// is invalid, or if there is none.
func Examples(t testing.TB, readme string) map[string]*dynamic.Middleware {
	t.Helper()
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]*dynamic.Middleware)
	blocks := strings.Split(string(text), "```")
	for i := 1; i < len(blocks); i += 2 {
		example, ok := strings.CutPrefix(blocks[i], "yaml\n")
		if !ok {
			continue
		}
		node, err := document.Parse(readme+".yaml", []byte(example))
		if err != nil {
			t.Fatal(err)
		}
		config := new(dynamic.Decoder).Decode(readme, node, false)
		for _, verdict := range config.Verdicts {
			t.Error(verdict)
		}
		for name, definition := range config.HTTP.Middlewares.All() {
			found[name] = definition
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s shows no middleware", readme)
	}
	return found
}

// Request parses a request as a server does and normalises it by the default policy. The lines are the request line
// without a version and the header lines; the default Host is example.com.
func Request(t testing.TB, line string, headers ...string) *http.Request {
	t.Helper()
	head := line + " HTTP/1.1\r\n"
	if !strings.Contains(strings.ToLower(strings.Join(headers, "\n")), "host:") {
		head += "Host: example.com\r\n"
	}
	for _, header := range headers {
		head += header + "\r\n"
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n")))
	if err != nil {
		t.Fatalf("reading %q: %v", head, err)
	}
	if _, err := canonical.DefaultPolicy().Normalize(r); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	r.RemoteAddr = "192.0.2.1:1234"
	return r
}

// Writer is a response writer that records status and headers only, for benchmarks.
type Writer struct {
	// Status is the argument of WriteHeader, 0 before.
	Status int
	header http.Header
}

// Header returns the headers.
func (w *Writer) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header)
	}
	return w.header
}

// WriteHeader records the first status.
func (w *Writer) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status = status
	}
}

// Write drops the body.
func (w *Writer) Write(body []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return len(body), nil
}
