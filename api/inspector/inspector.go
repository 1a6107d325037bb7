// Package inspector answers the inspector of KT-env, a small command that requests the state of the operator of virtual
// environments at 127.0.0.1:8000, so that it works with Sluice too.
//
// GET /status has the VirtualEnvironments that apply and how Services are divided, GET /version the version, and GET
// /log?level=ERROR|INFO|DEBUG sets the level of the log. There is no authentication: the listener has a loopback
// address.
package inspector

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Status is the answer to /status. Its fields have the names of KT-env.
type Status struct {
	// VirtualEnv holds the VirtualEnvironments that apply, as namespace/name, with commas.
	VirtualEnv string
	// Services are the ports of Services that are divided, as namespace/service:port.
	Services map[string]Service
	// Labels are the tags of each namespace.
	Labels map[string][]string
}

// Service is a port of a Service.
type Service struct {
	// Environments are its tags.
	Environments []string
}

// Version is the answer to /version. Its fields have the names of KT-env.
type Version struct {
	// Version is that of Sluice, and BuildTime the time of its commit; empty if unknown.
	Version, BuildTime string
}

// Source is what the inspector shows and changes.
type Source interface {
	// Status returns the present state.
	Status() Status
	// SetLevel sets the level of the log: ERROR, INFO or DEBUG.
	SetLevel(level string) error
}

// NewHandler returns the handler of a source.
func NewHandler(source Source, version Version) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { answer(w, source.Status()) })
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { answer(w, version) })
	mux.HandleFunc("GET /log", func(w http.ResponseWriter, r *http.Request) {
		level := r.URL.Query().Get("level")
		switch level {
		case "ERROR", "INFO", "DEBUG":
		default:
			http.Error(w, "level must be one of ERROR, INFO, DEBUG", http.StatusBadRequest)
			return
		}
		if err := source.SetLevel(strings.ToLower(level)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("log level changed to " + level))
	})
	return local(mux)
}

// local refuses requests by another name than that of the host itself: a page in a browser could send them otherwise.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		ip, err := netip.ParseAddr(host)
		site := r.Header.Get("Sec-Fetch-Site")
		if host != "localhost" && (err != nil || !ip.IsLoopback()) || r.Header.Get("Origin") != "" ||
			site != "" && site != "none" && site != "same-origin" {
			http.Error(w, "only requests from this host are answered", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value)
}
