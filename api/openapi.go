package api

import (
	_ "embed"
	"io"
	"net/http"
)

// document is the OpenAPI document of everything that api@internal answers.
//
//go:embed openapi.yaml
var document string

func openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = io.WriteString(w, document)
}
