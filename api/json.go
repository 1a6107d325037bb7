package api

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Problem is the JSON of an error.
type Problem struct {
	// Message is one sentence for humans.
	Message string `json:"message"`
}

// Writer returns the function that writes a value as JSON. A value that cannot be encoded is logged and answered with
// 500.
func Writer(logger telemetry.Logger) func(w http.ResponseWriter, status int, value any) {
	return func(w http.ResponseWriter, status int, value any) {
		var body bytes.Buffer
		encoder := json.NewEncoder(&body)
		encoder.SetEscapeHTML(false) // rules and reasons are full of &&
		if err := encoder.Encode(value); err != nil {
			logger.Error("answer cannot be written as JSON", "error", err)
			body.Reset()
			body.WriteString(`{"message":"the answer cannot be written as JSON"}` + "\n")
			status = http.StatusInternalServerError
		}
		header := w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status)
		_, _ = w.Write(body.Bytes()) // the client may have gone
	}
}
