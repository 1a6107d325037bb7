package gateway

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

// colour is one of two Services, and what their endpoints answer.
type colour int

const (
	blue colour = iota
	green
)

func (c colour) String() string { return [...]string{"blue", "green"}[c] }

const (
	// ofColour is how many endpoints there are of each colour.
	ofColour = 4
	// endpointPort is the port of all of them.
	endpointPort = 8080
	// filterField is the response field that a route's filter sets to the colour of its backend.
	filterField = "X-Colour"
)

// place returns the address of an endpoint.
func place(c colour, number int) string {
	return fmt.Sprintf("198.51.100.%d", 100+int(c)*ofColour+number)
}

// endpoint is one endpoint, which can fail.
type endpoint struct {
	server *http.Server
	ended  chan struct{}
}

// startEndpoint starts an endpoint that answers with its colour.
func startEndpoint(tb testing.TB, c colour, number int) *endpoint {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", net.JoinHostPort(place(c, number), fmt.Sprint(endpointPort)))
	if err != nil {
		tb.Fatal(err)
	}
	text := []byte(c.String())
	e := &endpoint{ended: make(chan struct{}), server: &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }),
	}}
	go func() { defer close(e.ended); _ = e.server.Serve(listener) }()
	return e
}

// stop closes all connections; later ones are refused.
func (e *endpoint) stop() {
	_ = e.server.Close()
	<-e.ended
}

// serve starts the first two endpoints of each colour.
func serve(tb testing.TB) {
	tb.Helper()
	for _, c := range []colour{blue, green} {
		for number := range 2 {
			tb.Cleanup(startEndpoint(tb, c, number).stop)
		}
	}
}
