// Command web is what runs in the containers of the tests: a server that says its name, and a check of its health.
//
// In flow requests, and SIGTERM; out flow answers with the name of the container. It never does anything else.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "80"
	}
	if len(os.Args) > 1 && os.Args[1] == "check" {
		os.Exit(check(port))
	}
	if err := serve(port); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check requests the health of the server in the same container.
func check(port string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port+"/health", nil)
	if err != nil {
		return 1
	}
	response, err := new(http.Client).Do(request)
	if err != nil {
		return 1
	}
	defer response.Body.Close() //nolint:errcheck // Nothing is read.
	if response.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}

// serve answers until SIGTERM. A request for /sick makes the health check fail from then on, one for /well ends that.
func serve(port string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	var sick atomic.Bool
	sick.Store(os.Getenv("SICK") != "")
	mux := http.NewServeMux()
	mux.HandleFunc("/sick", func(http.ResponseWriter, *http.Request) { sick.Store(true) })
	mux.HandleFunc("/well", func(http.ResponseWriter, *http.Request) { sick.Store(false) })
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		if sick.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Container", name)
		_, _ = fmt.Fprintf(w, "%s on port %s: %s\n", name, port, r.URL.Path)
	})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: ":" + port, Handler: mux, ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return server.Shutdown(ctx)
}
