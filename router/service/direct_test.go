package service_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestDirectResponse(t *testing.T) {
	for _, row := range []struct {
		status        int
		body, kind    string
		code          int
		want, status2 string
	}{
		{status: 500, code: 500},
		{status: 204, code: 204},
		{status: 503, body: "closed", code: 503, want: "closed"},
		{status: 404, kind: "application/grpc", code: 200, status2: "12"},
		{status: 503, kind: "application/grpc+proto", body: "closed", code: 200, status2: "14"},
		{status: 503, kind: "application/grpc-web", body: "closed", code: 503, want: "closed"},
	} {
		direct, err := service.NewDirect("stub@file", &dynamic.DirectResponse{Status: row.status, Body: row.body})
		if err != nil {
			t.Fatal(err)
		}
		record := &telemetry.Record{}
		r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodPost, "/", http.NoBody)
		r.Header.Set("Content-Type", row.kind)
		w := httptest.NewRecorder()
		direct.ServeHTTP(w, r)
		if w.Code != row.code || w.Body.String() != row.want || w.Header().Get("Grpc-Status") != row.status2 ||
			record.Service != "stub@file" || record.Status != row.code || !direct.Up() {
			t.Errorf("%+v: %d %v %q, %+v", row, w.Code, w.Header(), w.Body, record)
		}
	}
}

func TestDirectResponsesAreValid(t *testing.T) {
	for _, config := range []dynamic.DirectResponse{
		{}, {Status: 199}, {Status: 600}, {Status: 204, Body: "a"}, {Status: 304, Body: "a"},
	} {
		if _, err := service.NewDirect("stub@file", &config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
