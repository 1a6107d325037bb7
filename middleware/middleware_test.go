package middleware

import (
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/ipallowlist"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestBuildAllExamples(t *testing.T) {
	readmes, err := filepath.Glob("*/README.md")
	if err != nil || len(readmes) < 5 {
		t.Fatalf("found %q, %v", readmes, err)
	}
	for _, readme := range readmes {
		for name, definition := range middlewaretest.Examples(t, readme) {
			step, err := NewBuilder(Options{}).Build(name+"@file", definition, named(), &Reads{})
			if errors.Is(err, fs.ErrNotExist) {
				continue // The package's own test has the files that its examples name.
			}
			if err != nil {
				t.Errorf("%s: %s: %v", readme, name, err)
				continue
			}
			kind := strings.Replace(strings.ToLower(KindsOf(definition)[0]), "ipwhitelist", "ipallowlist", 1) // An older name.
			if kind != filepath.Dir(readme) {
				t.Errorf("%s shows a %s", readme, kind)
			}
			called := false
			handler := step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				called = true
				w.WriteHeader(http.StatusOK)
			}))
			w := new(middlewaretest.Writer)
			handler.ServeHTTP(w, middlewaretest.Request(t, "GET /"))
			if redirected := w.Status >= 300; called == redirected {
				t.Errorf("%s: %s: status %d, next called: %v", readme, name, w.Status, called)
			}
		}
	}
}

// named finds every service, and every middleware as one that lets nothing in.
func named() References {
	nobody, err := ipallowlist.New("nobody@file", dynamic.IPAllowList{SourceRange: []string{"198.51.100.1"}})
	return References{
		Service:    func(string) (http.Handler, error) { return http.NotFoundHandler(), nil },
		Middleware: func(string) ([]Middleware, error) { return []Middleware{nobody}, err },
	}
}

// TestEveryKindHasOneAnswer goes through the model's fields, so that a kind that is added there can't be missing
// here.
func TestEveryKindHasOneAnswer(t *testing.T) {
	unbuilt := []string{"plugin"}
	// with their defaults
	content := []string{
		"buffering", "contentType", "encodedCharacters", "fault", "grpcWeb", "passTLSClientCert", "rateLimit",
	}
	kind := reflect.TypeFor[dynamic.Middleware]()
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		definition := new(dynamic.Middleware)
		field := reflect.ValueOf(definition).Elem().Field(i)
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
		} else {
			field.Set(reflect.MakeMap(field.Type()))
		}
		if got := KindsOf(definition); !slices.Equal(got, []string{name}) {
			t.Errorf("Kinds is %q, want %q", got, name)
		}
		step, err := NewBuilder(Options{}).Build("m@file", definition, named(), &Reads{})
		unsupported, ok := errors.AsType[*UnsupportedError](err)
		switch {
		case name == "chain":
			if !errors.Is(err, ErrChain) {
				t.Errorf("%s: error %v", name, err)
			}
		case slices.Contains(unbuilt, name):
			if !ok || unsupported.Option != name || err.Error() != name+" is not supported yet" {
				t.Errorf("%s: error %v", name, err)
			}
		case slices.Contains(content, name):
			if err != nil || step == nil {
				t.Errorf("an empty %s is refused: %v", name, err)
			}
		case err == nil || ok || !strings.HasPrefix(err.Error(), name):
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	tests := []struct {
		definition *dynamic.Middleware
		reason     string
	}{
		{nil, "no kind of middleware is set"},
		{&dynamic.Middleware{}, "no kind of middleware is set"},
		{
			&dynamic.Middleware{
				AddPrefix: &dynamic.AddPrefix{Prefix: "/a"}, Headers: &dynamic.Headers{},
				Chain: &dynamic.Chain{},
			},
			"one kind of middleware is wanted, but addPrefix, chain, headers are set",
		},
		{&dynamic.Middleware{Plugin: map[string]map[string]any{}}, "plugin is not supported yet"},
	}
	for _, test := range tests {
		step, err := NewBuilder(Options{}).Build("m@file", test.definition, References{}, &Reads{})
		if step != nil || err == nil || err.Error() != test.reason {
			t.Errorf("Build is %v, %v, want %q", step, err, test.reason)
		}
	}
	_, err := NewBuilder(Options{}).Build("m@file", tests[3].definition, References{}, &Reads{})
	if unsupported, ok := errors.AsType[*UnsupportedError](err); !ok || unsupported.Option != "plugin" {
		t.Errorf("error is %#v", err)
	}
}
