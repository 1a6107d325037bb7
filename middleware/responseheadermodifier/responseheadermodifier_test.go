package responseheadermodifier_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/responseheadermodifier"
)

func readme(t *testing.T) *responseheadermodifier.ResponseHeaderModifier {
	t.Helper()
	config := middlewaretest.Examples(t, "README.md")["tidy"].ResponseHeaderModifier
	step, err := responseheadermodifier.New("tidy@file", *config)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

func TestReadme(t *testing.T) {
	w := httptest.NewRecorder()
	readme(t).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Cache-Control"] = []string{"public", "max-age=1"}
		w.Header()["Set-Cookie"] = []string{"a=b"}
		w.Header().Set("Server", "x")
		_, _ = io.WriteString(w, "body")
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Host: h"))
	want := http.Header{"Cache-Control": {"no-store"}, "Set-Cookie": {"a=b", "seen=1"}}
	got := w.Result().Header //nolint:bodyclose // A recorder's.
	delete(got, "Content-Type")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// listRecorder takes the fields of a response as a list.
// fieldsWriter takes the head of a response as a list of fields.
type fieldsWriter interface {
	WriteFields(status int, fields []wire.Field)
}

type listRecorder struct {
	middlewaretest.Writer
	fields []wire.Field
}

func (w *listRecorder) WriteFields(_ int, fields []wire.Field) { w.fields = slices.Clone(fields) }

func TestFieldsAreEditedAsAList(t *testing.T) {
	w := new(listRecorder)
	readme(t).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", "x")
		w.(fieldsWriter).WriteFields(http.StatusOK, []wire.Field{
			{Name: "Server", Value: "y"}, {Name: "Cache-Control", Value: "public"}, {Name: "Set-Cookie", Value: "a=b"},
		})
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Host: h"))
	want := []wire.Field{
		{Name: "Set-Cookie", Value: "a=b"}, {Name: "Cache-Control", Value: "no-store"}, {Name: "Set-Cookie", Value: "seen=1"},
	}
	if diff := cmp.Diff(want, w.fields); diff != "" || len(w.Header()) > 0 {
		t.Errorf("header %v, fields (-want +got):\n%s", w.Header(), diff)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, config := range []dynamic.ResponseHeaderModifier{{}, {Remove: []string{"Content-Length"}}} {
		if _, err := responseheadermodifier.New("x", config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
