package entrypoint_test

import (
	"context"
	"io"
	"net/http"
	"strings"
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
					record.Status = telemetry.StatusClientClosedRequest
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
			if record := s.record(); record.Status != telemetry.StatusClientClosedRequest {
				t.Errorf("record %+v", record)
			}
		})
	}
}

// TestAbortIsNotTheClients has a handler give up before its response has begun, which is not the client that left.
func TestAbortIsNotTheClients(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				telemetry.RecordFrom(r.Context()).Code = telemetry.CodeBroken
				panic(http.ErrAbortHandler)
			}), nil)
			client, url := s.client(protocol)
			// POST is not sent again.
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close()
				t.Error("the client got a response")
			}
			if record := s.record(); record.Status == telemetry.StatusClientClosedRequest ||
				record.Code != telemetry.CodeBroken {
				t.Errorf("the record has %d and %q", record.Status, record.Code)
			}
		})
	}
}

// TestRecordIsFilledInForARouter demands what a sink needs where the entrypoint says nothing and a router may, and the
// length of a body without a declared length.
func TestRecordIsFilledInForARouter(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, "whole")
			}), nil)
			client, url := s.client(protocol)
			for _, body := range []io.Reader{
				strings.NewReader(strings.Repeat("x", 70_000)),
				io.MultiReader(strings.NewReader(strings.Repeat("x", 70_000))),
			} {
				do(t, client, http.MethodPost, url+"/upload?a=b", body)
				record := s.record()
				if record.BytesReceived != 70_000 || record.BytesSent != 5 {
					t.Errorf("%d bytes were received and %d sent", record.BytesReceived, record.BytesSent)
				}
				if record.RequestID != "began /upload" || record.Query != "a=b" || record.RequestHeader == nil ||
					record.ClientPort == "" {
					t.Errorf("record %+v", record)
				}
			}
		})
	}
}

// TestClientThatLeftHasItsCode demands the code of a request without a response because the client left.
func TestClientThatLeftHasItsCode(t *testing.T) {
	for _, protocol := range []string{"h1", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			began := make(chan struct{})
			s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(began)
				<-r.Context().Done()
			}), nil)
			client, url := s.client(protocol)
			ctx, cancel := context.WithCancel(t.Context())
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				<-began
				cancel()
			}()
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close()
				t.Error("the request was answered")
			}
			if record := s.record(); record.Status != telemetry.StatusClientClosedRequest ||
				record.Code != telemetry.CodeClientLeft {
				t.Errorf("record %+v", record)
			}
		})
	}
}
