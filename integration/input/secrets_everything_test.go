package input

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// reader collects all responses of the entrypoint traefik by path.
type reader struct {
	client *harness.Client
	said   map[string]string
	t      *testing.T
}

// everything requests all paths of Sluice's OpenAPI document, with question for /api/explain, and those beside the API.
// With each it also requests every object of every list.
func everything(t *testing.T, s *harness.Sluice, question string, each bool) map[string]string {
	t.Helper()
	r := reader{
		client: harness.NewClient(t, harness.H1, s.Addr("traefik"), "localhost", nil), said: map[string]string{},
		t: t,
	}
	document, err := openapi3.NewLoader().LoadFromData([]byte(r.client.Get("/api/openapi.yaml").Text))
	if err != nil {
		t.Fatal(err)
	}
	for path := range document.Paths.Map() {
		list, single := strings.CutSuffix(path, "/{id}")
		switch {
		case path == "/api/events":
			r.events()
		case path == "/api/explain":
			r.get(path + "?" + question)
		case path == "/api/support-dump":
			r.unpack(path)
		case path == "/debug/pprof/{id}":
			r.profiles(list)
		case single && each:
			r.each(list)
		case single:
			r.get(list + "/nobody")
		default:
			r.get(path)
			r.get(path + "?per_page=100000&search=a&sortBy=name")
		}
	}
	for _, path := range []string{"/ready", "/ping", "/metrics", "/dashboard/", "/", "/nothing", "/api/nothing"} {
		r.get(path)
	}
	return r.said
}

// get requests a path, and stores header and body.
func (r reader) get(path string) harness.Response {
	r.t.Helper()
	answer := r.client.Get(path)
	text := answer.Text
	if strings.HasPrefix(text, "\x1f\x8b") {
		text = inflate(r.t, text)
	}
	r.said[path] = fmt.Sprintln(answer.Header) + text
	return answer
}

func inflate(t *testing.T, text string) string {
	t.Helper()
	compressed, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(compressed)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// each requests every object of a list.
func (r reader) each(list string) {
	r.t.Helper()
	var objects []struct {
		Name       string
		Generation int
	}
	answer := r.get(list + "?per_page=100000")
	if err := json.Unmarshal([]byte(answer.Text), &objects); err != nil {
		r.t.Fatalf("%s: %v: %.300s", list, err, answer.Text)
	}
	for _, object := range objects {
		if object.Name == "" {
			object.Name = fmt.Sprint(object.Generation)
		}
		if answer := r.get(list + "/" + url.PathEscape(object.Name)); answer.StatusCode != http.StatusOK {
			r.t.Errorf("%s/%s: status %d", list, object.Name, answer.StatusCode)
		}
	}
}

// profiles requests every profile in every form.
func (r reader) profiles(index string) {
	r.t.Helper()
	for line := range strings.Lines(r.get(index + "/").Text) {
		name := strings.Fields(line)[0]
		for _, form := range []string{"?seconds=1", "?debug=1", "?debug=2"} {
			if cpu := name == "profile" || name == "trace"; cpu == (form == "?seconds=1") {
				r.get(index + "/" + name + form)
			}
		}
	}
}

// events reads the stored events of the stream, up to the event that comes behind that.
func (r reader) events() {
	r.t.Helper()
	request := r.client.Request(http.MethodGet, "/api/events", nil)
	request.Header.Set("Last-Event-ID", "0")
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // That is how a listener leaves.
	var text bytes.Buffer
	for piece := make([]byte, 1<<16); !strings.Contains(text.String(), "event: providers\n"); {
		n, err := response.Body.Read(piece)
		text.Write(piece[:n])
		if err != nil {
			r.t.Errorf("the events end: %v", err)
			break
		}
	}
	if !strings.Contains(text.String(), "event: generation\n") {
		r.t.Errorf("no generation is among the events: %.300s", text.String())
	}
	r.said["/api/events"] = text.String()
}

// unpack reads every file of the support archive.
func (r reader) unpack(path string) {
	r.t.Helper()
	for entries := tar.NewReader(strings.NewReader(inflate(r.t, r.get(path).Text))); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			r.t.Fatal(err)
		}
		text, err := io.ReadAll(entries)
		if err != nil {
			r.t.Fatal(err)
		}
		r.said[path+" "+entry.Name] = string(text)
	}
}
