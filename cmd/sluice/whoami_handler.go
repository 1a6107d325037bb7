package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// whoamiHandler answers with what it sees of a request, in the form of traefik/whoami.
type whoamiHandler struct {
	name      string
	hostname  string
	addresses []string
	health    atomic.Int32    // status of /health
	stopping  <-chan struct{} // closed when WebSockets, which no server's shutdown waits for, must end
}

// newWhoamiHandler returns whoami's routes. The name may be empty.
func newWhoamiHandler(name string, stopping <-chan struct{}) http.Handler {
	hostname, _ := os.Hostname() // An unknown name stays empty.
	handler := &whoamiHandler{name: name, hostname: hostname, addresses: localAddresses(), stopping: stopping}
	handler.health.Store(http.StatusOK)

	mux := http.NewServeMux()
	mux.HandleFunc("/", handler.describe)
	mux.HandleFunc("/api", handler.api)
	mux.HandleFunc("/bench", bench)
	mux.HandleFunc("/data", data)
	mux.HandleFunc("/echo", handler.echo)
	mux.HandleFunc("/health", handler.answerHealth)
	return waiting(mux)
}

// waiting delays a request by the duration in its query's wait, for instance ?wait=1s.
func waiting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait := r.URL.Query().Get("wait"); wait != "" {
			delay, err := time.ParseDuration(wait)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			timer := time.NewTimer(delay)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.Context().Done():
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// describe prints the name of the server and the request as received.
func (h *whoamiHandler) describe(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	var text strings.Builder
	if h.name != "" {
		fmt.Fprintf(&text, "Name: %s\n", h.name)
	}
	fmt.Fprintf(&text, "Hostname: %s\n", h.hostname)
	for _, address := range h.addresses {
		fmt.Fprintf(&text, "IP: %s\n", address)
	}
	fmt.Fprintf(&text, "RemoteAddr: %s\n", r.RemoteAddr)
	fmt.Fprintf(&text, "%s %s %s\nHost: %s\n", r.Method, r.URL.RequestURI(), r.Proto, r.Host)
	_ = r.Header.Write(&text) // A builder takes everything.
	_, _ = io.WriteString(w, text.String())
}

// api prints the same as JSON.
func (h *whoamiHandler) api(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct {
		Hostname   string      `json:"hostname,omitempty"`
		IP         []string    `json:"ip,omitempty"`
		Headers    http.Header `json:"headers,omitempty"`
		URL        string      `json:"url,omitempty"`
		Host       string      `json:"host,omitempty"`
		Method     string      `json:"method,omitempty"`
		Name       string      `json:"name,omitempty"`
		RemoteAddr string      `json:"remoteAddr,omitempty"`
	}{h.hostname, h.addresses, r.Header, r.URL.RequestURI(), r.Host, r.Method, h.name, r.RemoteAddr})
}

// answerHealth answers GET with the status that was POSTed last, 200 at first.
func (h *whoamiHandler) answerHealth(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		w.WriteHeader(int(h.health.Load()))
	case http.MethodPost:
		h.setHealth(w, r)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// setHealth takes the status for /health from the request's body.
func (h *whoamiHandler) setHealth(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 16))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	status, err := strconv.Atoi(strings.TrimSpace(string(body)))
	if err != nil || status < 200 || status > 599 {
		http.Error(w, "the body must be a status from 200 to 599", http.StatusBadRequest)
		return
	}
	h.health.Store(int32(status))
}

// echo sends every WebSocket message back.
func (h *whoamiHandler) echo(w http.ResponseWriter, r *http.Request) {
	// Any origin: there is nothing to protect.
	connection, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered.
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-h.stopping:
			_ = connection.Close(websocket.StatusGoingAway, "stopping")
		case <-ended:
		}
	}()
	for {
		kind, message, err := connection.Read(r.Context())
		if err != nil {
			_ = connection.CloseNow()
			return
		}
		if err := connection.Write(r.Context(), kind, message); err != nil {
			_ = connection.CloseNow()
			return
		}
	}
}

// bench is the smallest answer.
func bench(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "1")
}

// data answers with size bytes, in the unit KB, MB or GB (powers of 1024; bytes without one), up to 1 TiB.
func data(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	shift, known := map[string]uint{"": 0, "B": 0, "KB": 10, "MB": 20, "GB": 30}[strings.ToUpper(query.Get("unit"))]
	size := int64(1)
	if text := query.Get("size"); text != "" {
		var err error
		if size, err = strconv.ParseInt(text, 10, 64); err != nil {
			known = false
		}
	}
	if !known || size < 0 || size > 1<<40>>shift {
		http.Error(w, "size must be a number of at most 1 TiB, unit one of KB, MB, GB", http.StatusBadRequest)
		return
	}
	size <<= shift
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	_, _ = io.CopyN(w, alphabet{}, size)
}

// alphabet is an endless reader of letters.
type alphabet struct{}

// Read fills p and never fails.
func (alphabet) Read(p []byte) (int, error) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef" // 32, so that blocks of any power of two line up
	for n := 0; n < len(p); {
		n += copy(p[n:], letters)
	}
	return len(p), nil
}

// localAddresses lists the addresses of this host's interfaces, as far as they are known.
func localAddresses() []string {
	interfaces, _ := net.InterfaceAddrs()
	var addresses []string
	for _, one := range interfaces {
		if prefix, ok := one.(*net.IPNet); ok {
			addresses = append(addresses, prefix.IP.String())
		}
	}
	return addresses
}
