package kubernetes

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

// colour is one of the two sets of endpoints of a service.
type colour int

const (
	blue colour = iota
	green
)

func (c colour) String() string { return [...]string{"blue", "green"}[c] }

func (c colour) other() colour { return 1 - c }

const (
	// ofColour is how many endpoints there are of each colour.
	ofColour = 16
	// endpointPort is the port of all of them.
	endpointPort = 8080
)

// place returns the address of an endpoint.
func place(c colour, number int) string {
	return fmt.Sprintf("198.51.100.%d", 100+int(c)*ofColour+number%ofColour)
}

// serve starts all endpoints, each of which answers with its colour.
func serve(tb testing.TB) {
	tb.Helper()
	for _, c := range []colour{blue, green} {
		text := []byte(c.String())
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request,
		) {
			_, _ = w.Write(text)
		})}
		for number := range ofColour {
			var config net.ListenConfig
			listener, err := config.Listen(tb.Context(), "tcp", net.JoinHostPort(place(c, number), fmt.Sprint(endpointPort)))
			if err != nil {
				tb.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { defer close(ended); _ = server.Serve(listener) }()
			tb.Cleanup(func() { <-ended })
		}
		tb.Cleanup(func() { _ = server.Close() })
	}
}
