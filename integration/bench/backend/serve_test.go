package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestServeAnswersOneRequestAfterAnother sends a body and requests chunks on one connection, with net/http as client.
func TestServeAnswersOneRequestAfterAnother(t *testing.T) {
	client, server := net.Pipe()
	ended := make(chan struct{})
	go func() { defer close(ended); serve(server) }()
	reader := bufio.NewReader(client)
	tests := []struct {
		method, path string
		body         int
		length       int
		chunked      bool
	}{
		{http.MethodPost, "/post", 16 << 10, 128, false},
		{http.MethodGet, "/chunked", 0, chunks * chunk, true},
		{http.MethodPost, "/post", 1, 128, false},
	}
	for _, test := range tests {
		request, err := http.NewRequestWithContext(t.Context(), test.method, "http://bench.test"+test.path,
			strings.NewReader(strings.Repeat("y", test.body)))
		if err != nil {
			t.Fatal(err)
		}
		if err := request.Write(client); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(reader, request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || len(body) != test.length || (response.ContentLength < 0) != test.chunked {
			t.Errorf("%s %s: %d bytes of length %d: %v", test.method, test.path, len(body), response.ContentLength, err)
		}
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
}
