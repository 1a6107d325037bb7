package api

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// document is the OpenAPI document of a running Sluice.
type document struct {
	*openapi3.T

	router routers.Router
	// asked holds the paths whose responses were compared.
	asked map[string]bool
}

// published reads the document of a Sluice, whose paths begin with prefix.
func published(t *testing.T, client *harness.Client, prefix string) *document {
	t.Helper()
	answer := client.Get(prefix + "/api/openapi.yaml")
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "application/yaml" {
		t.Fatalf("openapi.yaml: status %d, %v", answer.StatusCode, answer.Header)
	}
	loaded, err := openapi3.NewLoader().LoadFromData([]byte(answer.Text))
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(loaded)
	if err != nil {
		t.Fatal(err)
	}
	return &document{T: loaded, router: router, asked: map[string]bool{}}
}

// fits demands that an answer is one that the document describes: the status, the headers, the content type and,
// of JSON, every value. The prefix is not part of the document.
func (d *document) fits(t *testing.T, prefix string, answer harness.Response) {
	t.Helper()
	asked := answer.Request.Clone(t.Context())
	if asked.Method == http.MethodHead {
		asked.Method = http.MethodGet
	}
	target, err := url.Parse(strings.TrimPrefix(asked.URL.RequestURI(), prefix))
	if err != nil {
		t.Fatal(err)
	}
	asked.URL = target
	route, values, err := d.router.FindRoute(asked)
	if err != nil {
		t.Errorf("%s: %v", target, err)
		return
	}
	d.asked[route.Path] = true
	described := route.Operation.Responses.Status(answer.StatusCode)
	if described == nil {
		t.Errorf("%s: the document has no status %d: %s", target, answer.StatusCode, answer.Text)
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: asked, PathParams: values, Route: route},
		Status:                 answer.StatusCode, Header: answer.Header,
		Body:    io.NopCloser(bytes.NewReader([]byte(answer.Text))),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: true},
	}
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	switch content := described.Value.Content; {
	case content == nil && answer.Text == "":
	case content.Get(kind) == nil:
		t.Errorf("%s: status %d, and the document has no content of type %q", target, answer.StatusCode, kind)
	case kind == "application/json":
		input.Options.ExcludeResponseBody = false
	}
	if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
		t.Errorf("%s: the document says otherwise: %v", target, err)
	}
}

// get requests a path, checks the status, and compares the response with the document.
func (d *document) get(t *testing.T, client *harness.Client, path string, status int) harness.Response {
	t.Helper()
	answer := client.Get(path)
	if answer.StatusCode != status {
		t.Errorf("%s: status %d, want %d: %.300s", path, answer.StatusCode, status, answer.Text)
	}
	d.fits(t, "", answer)
	return answer
}
