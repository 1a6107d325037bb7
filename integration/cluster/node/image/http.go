package image

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// echo answers requests with a description of them.
type echo struct {
	container Container
	port      string
	retries   *retries
}

// description is the body of an answer.
type description struct {
	Path     string              `json:"path"`
	Host     string              `json:"host"`
	Method   string              `json:"method"`
	Proto    string              `json:"proto"`
	Headers  map[string][]string `json:"headers"`
	HTTPPort string              `json:"httpPort"`
	identity
	TLS *handshake `json:"tls,omitempty"`
}

// startEcho starts servers for HTTP/1.1 on HTTP_PORT (3000), HTTP/2 without TLS on H2C_PORT (3001), and, with a
// certificate, HTTPS on HTTPS_PORT (8443).
func startEcho(c Container, host string) ([]program, error) {
	e := &echo{container: c, port: c.env("HTTP_PORT", "3000"), retries: newRetries()}
	plain := &http.Server{Handler: e}
	unencrypted := &http.Server{Handler: http.HandlerFunc(e.onlyHTTP2), Protocols: new(http.Protocols)}
	unencrypted.Protocols.SetHTTP1(true)
	unencrypted.Protocols.SetUnencryptedHTTP2(true)
	var started []program
	for _, one := range []struct {
		server *http.Server
		port   string
	}{{plain, e.port}, {unencrypted, c.env("H2C_PORT", "3001")}} {
		p, err := serve(one.server, host, one.port, nil)
		if err != nil {
			return started, err
		}
		started = append(started, p)
	}
	settings, err := c.settings("TLS_SERVER_CERT", "TLS_SERVER_PRIVKEY")
	if err != nil || settings == nil {
		return started, err
	}
	if err := c.verifyClients(settings); err != nil {
		return started, err
	}
	p, err := serve(&http.Server{Handler: e}, host, c.env("HTTPS_PORT", "8443"), settings)
	if err != nil {
		return started, err
	}
	return append(started, p), nil
}

// webServer is a running HTTP server.
type webServer struct {
	*http.Server
	serving sync.WaitGroup
}

// serve listens with an HTTP server, with TLS if settings are given.
func serve(server *http.Server, host, port string, settings *tls.Config) (*webServer, error) {
	listener, err := listen(host, port)
	if err != nil {
		return nil, err
	}
	server.TLSConfig = settings
	server.ReadHeaderTimeout = time.Minute
	server.ErrorLog = log.New(io.Discard, "", 0) // Clients that disconnect are part of the tests.
	w := &webServer{Server: server}
	w.serving.Go(func() {
		if settings != nil {
			_ = server.ServeTLS(listener, "", "") // returns ErrServerClosed
			return
		}
		_ = server.Serve(listener)
	})
	return w, nil
}

func (w *webServer) finish(ctx context.Context) { _ = w.Shutdown(ctx) } // The rest is killed.

func (w *webServer) kill() {
	_ = w.Close()
	w.serving.Wait()
}

// onlyHTTP2 echoes requests of HTTP/2 and upgrades to it.
func (e *echo) onlyHTTP2(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 2 && r.Header.Get("Upgrade") != "h2c" {
		http.Error(w, "this port speaks HTTP/2 without TLS", http.StatusBadRequest)
		return
	}
	e.echo(w, r)
}

// ServeHTTP routes by path; double slashes count as one.
func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.ReplaceAll(r.URL.Path, "//", "/")
	switch {
	case path == "/health":
		_, _ = io.WriteString(w, "OK")
	case path == "/ws":
		e.webSocket(w, r)
	case strings.HasPrefix(path, "/status/"):
		w.WriteHeader(requestedStatus(r.RequestURI))
	case strings.HasPrefix(path, "/retry/"):
		e.retry(w, r)
	default:
		e.echo(w, r)
	}
}

var statusPath = regexp.MustCompile(`^/status/([1-9]\d\d)$`)

// requestedStatus returns the status code of a path, or 400.
func requestedStatus(uri string) int {
	if match := statusPath.FindStringSubmatch(uri); match != nil {
		code, _ := strconv.Atoi(match[1]) // three digits
		return code
	}
	return http.StatusBadRequest
}

// echo answers with the request's description, after the time of the query parameter delay.
func (e *echo) echo(w http.ResponseWriter, r *http.Request) {
	// Tests of mirrors look for this line.
	e.container.printf("Echoing back request made to %s to client (%s)\n", r.RequestURI, r.RemoteAddr)
	if !wait(w, r, "delay") {
		return
	}
	body, err := json.MarshalIndent(description{
		Path: r.RequestURI, Host: r.Host, Method: r.Method, Proto: r.Proto, Headers: r.Header, HTTPPort: e.port,
		identity: e.container.identity(), TLS: describe(r.TLS),
	}, "", " ")
	if err != nil {
		fail(w, err)
		return
	}
	setFields(w.Header(), r.Header["X-Echo-Set-Header"])
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(body)
}

// wait waits for the duration in a query parameter. It returns false if the request is over then.
func wait(w http.ResponseWriter, r *http.Request, parameter string) bool {
	text := r.URL.Query().Get(parameter)
	if text == "" {
		return true
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		fail(w, err)
		return false
	}
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// setFields adds the fields that a request asks for, as name:value with commas between them, in the case given.
func setFields(header http.Header, wanted []string) {
	for _, list := range wanted {
		for field := range strings.SplitSeq(list, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(field), ":")
			value = strings.TrimSpace(value)
			if before := header[name]; len(before) > 0 {
				value = before[0] + "," + value
			}
			header[name] = []string{value}
		}
	}
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	body, _ := json.Marshal(map[string]string{"message": err.Error()}) // A string can be encoded.
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write(body)
}

// webSocket sends each message back.
func (e *echo) webSocket(w http.ResponseWriter, r *http.Request) {
	connection, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // any Origin
	if err != nil {
		return // Accept has answered.
	}
	defer connection.CloseNow() //nolint:errcheck // the other side is told what matters
	e.container.printf("WebSocket connection of %s\n", r.RemoteAddr)
	for {
		kind, message, err := connection.Read(r.Context())
		if err != nil || connection.Write(r.Context(), kind, message) != nil {
			return
		}
	}
}
