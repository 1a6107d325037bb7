package entrypoint

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/telemetry"
)

// TestNotedStatus has handlers note a status in the record before they answer, or instead of an answer.
func TestNotedStatus(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				record := telemetry.RecordFrom(r.Context())
				if r.URL.Path == "/gave-up" {
					record.Status = statusClientLeft
					return
				}
				record.Status = http.StatusBadGateway
				w.Header().Set("Kept", "1")
				http.Error(w, "bad gateway", http.StatusBadGateway)
			}), nil)
			client, url := s.client(protocol)
			response, _ := do(t, client, http.MethodPost, url, nil)
			if response.StatusCode != http.StatusBadGateway || response.Header.Get("Kept") != "1" {
				t.Errorf("got %d %v", response.StatusCode, response.Header)
			}
			if record := s.record(); record.Status != http.StatusBadGateway {
				t.Errorf("record %+v", record)
			}
			if response, _, err := try(t, client, http.MethodPost, url+"/gave-up", nil); err == nil {
				t.Errorf("a handler that has given up answers %d", response.StatusCode)
			}
			if record := s.record(); record.Status != statusClientLeft {
				t.Errorf("record %+v", record)
			}
		})
	}
}
