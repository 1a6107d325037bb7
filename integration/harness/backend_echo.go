package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
)

// Echo is a backend's description of a request.
type Echo struct {
	Backend, Proto, Method, Host, Path, Query, RequestURI, RemoteAddr string
	// Header holds the request's header fields, Trailer its trailers.
	Header, Trailer http.Header
	// ContentLength is that of the request, -1 if unknown.
	ContentLength int64
	// BodyLength is in bytes, BodyHash the SHA-256 in hexadecimal.
	BodyLength int64
	BodyHash   string
}

// Echo decodes the response of a path that has no handler of its own.
func (r Response) Echo(t testing.TB) Echo {
	t.Helper()
	var echo Echo
	if err := json.Unmarshal([]byte(r.Text), &echo); err != nil {
		t.Fatalf("status %d, no echo of the request: %v\n%s", r.StatusCode, err, r.Text)
	}
	return echo
}

// echo answers with an Echo of the request.
func (b *Backend) echo(w http.ResponseWriter, r *http.Request) {
	hash := sha256.New()
	length, err := io.Copy(hash, r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Echo{
		Backend: b.Name, Proto: r.Proto, Method: r.Method, Host: r.Host, Path: r.URL.Path, Query: r.URL.RawQuery,
		RequestURI: r.RequestURI, RemoteAddr: r.RemoteAddr, Header: r.Header, Trailer: r.Trailer,
		ContentLength: r.ContentLength, BodyLength: length, BodyHash: hex.EncodeToString(hash.Sum(nil)),
	})
}

// mirror sends each piece of the body back as it arrives, with its type if there is one, and then the request's
// trailers. It may be a Stream.
func (b *Backend) mirror(w http.ResponseWriter, r *http.Request) {
	stream := &Stream{Begun: make(chan struct{}), Gone: make(chan struct{})}
	if r.URL.Query().Has("id") {
		if stream = b.take(w, r); stream == nil {
			return
		}
	}
	close(stream.Begun)
	defer close(stream.Gone)
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // always on with HTTP/2
	if kind := r.Header.Get("Content-Type"); kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	w.WriteHeader(http.StatusOK)
	_ = control.Flush()
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Body.Read(buffer)
		if _, writeErr := w.Write(buffer[:n]); writeErr != nil {
			return
		}
		_ = control.Flush()
		if err == io.EOF {
			break
		}
		if err != nil {
			stream.Err = err
			panic(http.ErrAbortHandler)
		}
	}
	for name, values := range r.Trailer {
		w.Header()[http.TrailerPrefix+name] = values
	}
}

// bytes sends size bytes of Pattern, with their length, or without it when chunked is set.
func (b *Backend) bytes(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.ParseInt(r.URL.Query().Get("size"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if !r.URL.Query().Has("chunked") {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	_, _ = io.Copy(w, Pattern(size))
}

// trailers sends a body with one announced and one unannounced trailer.
func (b *Backend) trailers(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Trailer", "X-Announced")
	_, _ = io.WriteString(w, "body")
	w.Header().Set("X-Announced", "first")
	w.Header().Set(http.TrailerPrefix+"X-Late", "second")
}

// early sends 103 with a Link, 103 with another one, and then the response.
func (b *Backend) early(w http.ResponseWriter, _ *http.Request) {
	for _, link := range []string{"</style.css>; rel=preload", "</script.js>; rel=preload"} {
		w.Header().Set("Link", link)
		w.WriteHeader(http.StatusEarlyHints)
	}
	w.Header().Del("Link")
	w.Header().Set("X-Final", "yes")
	_, _ = io.WriteString(w, "final")
}

// status answers with the status code, without a body if none is allowed.
func (b *Backend) status(w http.ResponseWriter, r *http.Request) {
	code, err := strconv.Atoi(r.URL.Query().Get("code"))
	if err != nil {
		code = http.StatusBadRequest
	}
	w.Header().Set("ETag", `"one"`)
	w.WriteHeader(code)
	if code != http.StatusNoContent && code != http.StatusNotModified {
		_, _ = fmt.Fprintf(w, "status %d", code)
	}
}

// fields answers with header fields that are duplicate, empty, or hop-by-hop.
func (b *Backend) fields(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h["Set-Cookie"] = []string{"a=1; Path=/", "b=2; HttpOnly"}
	h["X-Empty"] = []string{""}
	h["Keep-Alive"] = []string{"timeout=5"}
	h["Proxy-Authenticate"] = []string{"Basic"}
	h["Via"] = []string{"1.1 origin"}
	h["Server"] = []string{"origin"}
	h["Date"] = []string{"Thu, 01 Jan 2026 00:00:00 GMT"}
	w.WriteHeader(http.StatusAccepted)
}
