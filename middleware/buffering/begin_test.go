package buffering_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestResponsesOfGRPC pass at once whatever the request was.
func TestResponsesOfGRPC(t *testing.T) {
	step := newBuffering(t, dynamic.Buffering{})
	recorder := httptest.NewRecorder()
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		_, _ = io.WriteString(w, "message")
		if recorder.Body.String() != "message" {
			t.Errorf("%q has passed", recorder.Body)
		}
	})).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
}

// TestAClientThatHasLeft is no reason for another try.
func TestAClientThatHasLeft(t *testing.T) {
	step := newBuffering(t, dynamic.Buffering{RetryExpression: "Attempts() < 3"})
	record, tries := new(telemetry.Record), 0
	r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "/", nil)
	serve(step, r, func(http.ResponseWriter, *http.Request) {
		tries++
		record.Status = telemetry.StatusClientClosedRequest
	})
	if tries != 1 || record.Status != telemetry.StatusClientClosedRequest {
		t.Errorf("%d tries, recorded %d", tries, record.Status)
	}
}

// torn is a writer whose client takes no body.
type torn struct{ http.ResponseWriter }

// Write fails.
func (torn) Write([]byte) (int, error) { return 0, errors.New("torn") }

// TestResponseThatCannotBeSent is cut, as its head has been.
func TestResponseThatCannotBeSent(t *testing.T) {
	step := newBuffering(t, dynamic.Buffering{})
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares the value of a panic the same way.
			t.Errorf("the panic is %v", cause)
		}
	}()
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") })).
		ServeHTTP(torn{httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
}
