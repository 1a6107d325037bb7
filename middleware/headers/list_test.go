package headers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/middleware/headers"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// fieldsWriter is a writer as the servers' is.
type fieldsWriter interface {
	WriteFields(status int, fields []wire.Field)
}

// listing is a writer that takes fields as a list.
type listing struct {
	middlewaretest.Writer

	fields []wire.Field
}

// WriteFields notes the fields.
func (l *listing) WriteFields(status int, fields []wire.Field) {
	l.fields = fields
	l.Status = status
}

// TestFieldsAsList edits fields that come as a list, and one that is in the map already.
func TestFieldsAsList(t *testing.T) {
	t.Parallel()
	step, err := headers.New("h@file", dynamic.Headers{
		CustomResponseHeaders: map[string]string{"X-Served-By": "edge", "Server": "", "X-Early": "late"},
		ContentSecurityPolicy: "script-src $NONCE; style-src $NONCE",
	})
	if err != nil {
		t.Fatal(err)
	}
	w := new(listing)
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Early"] = []string{"early"}
		w.WriteHeader(http.StatusEarlyHints) // It has the header as it is.
		w.(fieldsWriter).WriteFields(http.StatusCreated, []wire.Field{
			{Name: "Server", Value: "b"},
			{Name: "Date", Value: "today"},
			{Name: "X-Served-By", Value: "endpoint"},
			{Name: "Server", Value: "c"},
			{Name: "Vary", Value: "Accept"},
		})
		_, _ = w.Write([]byte("body"))
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /"))
	got := map[string]string{}
	for _, field := range w.fields {
		if got[field.Name] != "" {
			t.Errorf("%s is there twice", field.Name)
		}
		got[field.Name] = field.Value
	}
	policy := got["Content-Security-Policy"]
	if nonces := strings.Fields(strings.ReplaceAll(policy, ";", "")); len(nonces) != 4 || nonces[1] != nonces[3] ||
		!strings.HasPrefix(nonces[1], "'nonce-") {
		t.Errorf("the policy is %q", policy)
	}
	delete(got, "Content-Security-Policy")
	want := map[string]string{"Date": "today", "Vary": "Accept", "X-Served-By": "edge", "X-Early": "late"}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
	if w.Status != http.StatusCreated || len(w.Header()) > 0 {
		t.Errorf("status %d, header %v", w.Status, w.Header())
	}
}

// TestFieldsAsListWithCORS has headers that depend on those of the response, which need a map.
func TestFieldsAsListWithCORS(t *testing.T) {
	t.Parallel()
	step, err := headers.New("h@file", dynamic.Headers{AddVaryHeader: true})
	if err != nil {
		t.Fatal(err)
	}
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := w.(fieldsWriter); ok {
			t.Error("Vary is not merged in a list")
		}
	})).ServeHTTP(new(listing), middlewaretest.Request(t, "GET /"))
}
