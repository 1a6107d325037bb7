// Package middlewaretest is what the tests of all middlewares share: the examples of a README, and requests as a
// server reads them.
//
// What flows in: the name of a README, or the lines of a request's head. What flows out: the definitions that the
// README shows, a canonical request, and a writer that keeps the head of the answer. It never serves a request by
// itself, and only tests import it.
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

// Examples loads every YAML example of a README as a dynamic configuration, and returns the middlewares that they
// declare, by name. An example that does not load, and a README without any, fail the test.
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
		var config dynamic.Configuration
		for _, problem := range document.Decode(node, &config) {
			t.Errorf("%s: %+v", readme, problem)
		}
		for name, definition := range config.HTTP.Middlewares {
			found[name] = definition
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s shows no middleware", readme)
	}
	return found
}

// Request reads a request as a server does and normalises it by the default policy. The lines are the request line
// without a version and the header lines; Host is example.com unless a line says otherwise.
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

// Writer is a response writer that keeps the status and the headers only, so that benchmarks measure nothing else.
type Writer struct {
	// Status is what WriteHeader was given, 0 before.
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

// WriteHeader keeps the first status.
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
