package service_test

import (
	"context"
	"net"
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

func TestDirectResponseHeaders(t *testing.T) {
	for _, row := range []struct {
		value, want string
		trim        bool
	}{
		{value: "https://$host$request_uri", want: "https://a.example/b/?c=d/"},
		{value: "https://$host$request_uri", want: "https://a.example/b/?c=d", trim: true},
		{value: "$scheme://$http_host/x$is_args$args", want: "http://A.example:8080/x?c=d/"},
		{value: "/$uri:$server_port$request_method$remote_addr$arg_c$http_x", want: "//b/:80GET192.0.2.7d/%0D%0Ay"},
	} {
		direct, err := service.NewDirect("stub@file", &dynamic.DirectResponse{
			Status: 308, TrimTrailingSlash: row.trim, Headers: []dynamic.HeaderValue{{Name: "location", Value: row.value}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx := telemetry.WithRecord(t.Context(), &telemetry.Record{Client: "192.0.2.7"})
		ctx = context.WithValue(ctx, http.LocalAddrContextKey, &net.TCPAddr{Port: 80})
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/b/?c=d/", http.NoBody)
		r.Host = "A.example:8080"
		r.Header["X"] = []string{"\r\ny"}
		w := httptest.NewRecorder()
		direct.ServeHTTP(w, r)
		if got := w.Header().Get("Location"); w.Code != 308 || got != row.want {
			t.Errorf("%+v: %d %q", row, w.Code, got)
		}
	}
	for _, headers := range [][]dynamic.HeaderValue{
		{{Name: "a b", Value: "x"}},
		{{Name: "Content-Length", Value: "1"}},
		{{Name: "A", Value: "$nothing"}},
		{{Name: "A", Value: "$1"}},
		{{Name: "A", Value: "$namespace"}},
		{{Name: "A"}, {Name: "a"}},
	} {
		if _, err := service.NewDirect("stub@file", &dynamic.DirectResponse{Status: 308, Headers: headers}); err == nil {
			t.Errorf("%+v is accepted", headers)
		}
	}
}
