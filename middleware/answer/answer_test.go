package answer

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/telemetry"
)

func TestBadRequest(t *testing.T) {
	record := new(telemetry.Record)
	r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "/", http.NoBody)
	w := httptest.NewRecorder()
	BadRequest(w, r, "a@file", errors.New("secret reason"))
	if w.Code != http.StatusBadRequest || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("answers %d %q", w.Code, w.Body)
	}
	if record.Reason != "middleware a@file: secret reason" {
		t.Errorf("records %q", record.Reason)
	}
}
