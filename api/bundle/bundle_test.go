package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fixed struct{ state *pipeline.State }

func (f fixed) State() *pipeline.State { return f.state }

const marker = "hunter2"

func options() Options {
	return Options{
		State: fixed{&pipeline.State{
			Generations: []pipeline.Generation{{Number: 4}, {Number: 5}},
			Configuration: &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{Middlewares: immutable.Of(
				map[string]*dynamic.Middleware{
					"auth@file": {BasicAuth: &dynamic.BasicAuth{Users: []string{"anna:" + marker}}},
				})}},
		}},
		Static: &static.Configuration{Tracing: &static.Tracing{OTLP: &static.TracingOTLP{
			GRPC: &static.OTLPGRPC{Headers: map[string]string{"X-Api-Key": marker}},
		}}},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "sluice_config_generation 5\n")
		}),
		Logger: telemetry.Discard{},
	}
}

// serve mounts a Bundle beside paths that answer what is given, or panic.
func serve(t *testing.T, options Options, answers map[string]string, prefix, target string) *httptest.ResponseRecorder {
	t.Helper()
	root := mux.NewRouter()
	for path, answer := range answers {
		api.Get(root, prefix+path, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case answer == "panic":
				panic(marker)
			case answer == "failure":
				w.WriteHeader(http.StatusInternalServerError)
			case path == "/api/ready":
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = fmt.Fprintf(w, "%s %s", answer, r.URL.RawQuery)
		})
	}
	New(options).Mount(root, prefix)
	recorder := httptest.NewRecorder()
	root.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody))
	return recorder
}

func unpack(t *testing.T, content []byte) map[string]string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Mode != 0o600 || header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) {
			t.Errorf("%s has mode %o and type %q", header.Name, header.Mode, header.Typeflag)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}

func TestBundle(t *testing.T) {
	answers := map[string]string{
		"/api/version": "v", "/api/ready": "not yet", "/api/endpoints": "e", "/api/routes": "panic",
		"/api/overview":    "failure",
		"/api/generations": "g", "/api/generations/{number}": "one",
	}
	answer := serve(t, options(), answers, "/base", "/base"+Path)
	if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != "application/gzip" ||
		answer.Header().Get("Content-Disposition") != "attachment; filename=support-dump.tar.gz" ||
		answer.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", answer.Code, answer.Header())
	}
	files := unpack(t, answer.Body.Bytes())
	want := []string{
		"dynamic-config.json", "endpoints.json", "generations.json", "generations/4.json", "generations/5.json",
		"goroutines.txt", "metrics.txt",
		"problems.txt", "ready.json", "runtime.json", "static-config.json", "version.json",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{
		"version.json": "v ", "ready.json": "not yet ", "endpoints.json": "e per_page=1000000", "generations/5.json": "one ",
		"metrics.txt":  "sluice_config_generation 5\n",
		"problems.txt": "overview.json: answered with status 500\nroutes.json: panic of type string\n",
	} {
		if files[name] != text {
			t.Errorf("%s holds %q, want %q", name, files[name], text)
		}
	}
	if !strings.Contains(files["goroutines.txt"], "TestBundle") {
		t.Error("the stacks lack this one")
	}
	var runtimeState map[string]any
	if err := json.Unmarshal([]byte(files["runtime.json"]), &runtimeState); err != nil || runtimeState["metrics"] == nil {
		t.Errorf("%v: runtime.json holds %.200s", err, files["runtime.json"])
	}
	if !strings.Contains(files["dynamic-config.json"], "auth@file") || !strings.Contains(files["static-config.json"],
		"X-Api-Key") || strings.Contains(fmt.Sprint(files), marker) {
		t.Errorf("a secret, or no configuration: %s, %s", files["dynamic-config.json"], files["static-config.json"])
	}
}

func TestOneBundleAtATime(t *testing.T) {
	var inner int
	o := options()
	root := mux.NewRouter()
	o.Metrics = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		root.ServeHTTP(recorder, httptest.NewRequestWithContext(r.Context(), http.MethodGet, Path, http.NoBody))
		inner = recorder.Code
	})
	New(o).Mount(root, "")
	for range 2 { // The second one is allowed again.
		recorder := httptest.NewRecorder()
		root.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, Path, http.NoBody))
		if recorder.Code != http.StatusOK || inner != http.StatusServiceUnavailable {
			t.Errorf("%d, and one meanwhile %d", recorder.Code, inner)
		}
	}
}

// broken panics at the first request.
type broken struct {
	fixed
	asked int
}

func (b *broken) State() *pipeline.State {
	if b.asked++; b.asked == 1 {
		panic(marker)
	}
	return b.fixed.State()
}

// A panic that is answered with 500 must not block all later archives.
func TestABundleIsMadeAfterAPanic(t *testing.T) {
	o := options()
	o.State = &broken{fixed: fixed{&pipeline.State{}}}
	root := mux.NewRouter()
	New(o).Mount(root, "")
	ask := func() (status int) {
		defer func() {
			if recover() != nil {
				status = http.StatusInternalServerError
			}
		}()
		recorder := httptest.NewRecorder()
		root.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, Path, http.NoBody))
		return recorder.Code
	}
	if first, second := ask(), ask(); first != http.StatusInternalServerError || second != http.StatusOK {
		t.Errorf("%d, and then %d", first, second)
	}
}

func TestBundleBeforeTheFirstGeneration(t *testing.T) {
	o := options()
	o.State, o.Metrics = fixed{&pipeline.State{}}, nil
	files := unpack(t, serve(t, o, nil, "", Path).Body.Bytes())
	if files["problems.txt"] != "" || files["static-config.json"] == "" {
		t.Errorf("the archive is %v", files)
	}
}
