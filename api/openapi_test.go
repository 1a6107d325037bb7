package api

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// published returns the OpenAPI document.
func published(t *testing.T) *openapi3.T {
	t.Helper()
	loaded, err := openapi3.NewLoader().LoadFromData([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestOpenAPI(t *testing.T) {
	published(t)
}
