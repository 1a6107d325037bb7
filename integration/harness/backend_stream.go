package harness

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/coder/websocket"
)

// Stream is one exchange that the test controls: a request with its id in the query.
type Stream struct {
	// Begun is closed when the request has arrived, Gone when it has ended in any way.
	Begun, Gone chan struct{}
	// Events are sent by /events one after another; closing the channel ends the response of /events and /hang.
	Events chan string
	// Err is why /mirror could not read the whole request; valid after Gone is closed.
	Err error
}

// Stream registers the exchange with the id. It is called before the request.
func (b *Backend) Stream(id string) *Stream {
	stream := &Stream{Begun: make(chan struct{}), Gone: make(chan struct{}), Events: make(chan string)}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.streams[id] = stream
	return stream
}

// take returns the stream of a request, once, or answers 404.
func (b *Backend) take(w http.ResponseWriter, r *http.Request) *Stream {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	id := r.URL.Query().Get("id")
	stream := b.streams[id]
	delete(b.streams, id)
	if stream == nil {
		http.Error(w, "no stream "+id, http.StatusNotFound)
	}
	return stream
}

// events sends the events of a stream (text/event-stream).
func (b *Backend) events(w http.ResponseWriter, r *http.Request) {
	stream := b.take(w, r)
	if stream == nil {
		return
	}
	close(stream.Begun)
	defer close(stream.Gone)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_ = control.Flush()
	for {
		select {
		case event, open := <-stream.Events:
			if !open {
				return
			}
			_, _ = fmt.Fprintf(w, "data: %s\n\n", event)
			_ = control.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// hang reads the request and does not answer until the events are closed or the client has gone.
func (b *Backend) hang(w http.ResponseWriter, r *http.Request) {
	stream := b.take(w, r)
	if stream == nil {
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // The server detects disconnects of HTTP/1.1 clients after this.
	close(stream.Begun)
	defer close(stream.Gone)
	select {
	case <-stream.Events:
		_, _ = io.WriteString(w, "late")
	case <-r.Context().Done():
	}
}

// slow begins a response at once and pauses until the events are closed or the client has gone.
func (b *Backend) slow(w http.ResponseWriter, r *http.Request) {
	stream := b.take(w, r)
	if stream == nil {
		return
	}
	_, _ = io.WriteString(w, "first")
	_ = http.NewResponseController(w).Flush()
	close(stream.Begun)
	defer close(stream.Gone)
	select {
	case <-stream.Events:
		_, _ = io.WriteString(w, "last")
	case <-r.Context().Done():
	}
}

// cut aborts the response: before the head without size, else after size bytes of a body of twice the length, which is
// announced unless chunked is set.
func (b *Backend) cut(w http.ResponseWriter, r *http.Request) {
	size, _ := strconv.ParseInt(r.URL.Query().Get("size"), 10, 64)
	if size > 0 {
		if !r.URL.Query().Has("chunked") {
			w.Header().Set("Content-Length", strconv.FormatInt(2*size, 10))
		}
		_, _ = io.Copy(w, Pattern(size))
		_ = http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler)
}

// refuse answers 413 without reading the body. The whole response is sent before the server reads the rest of it.
func (b *Backend) refuse(w http.ResponseWriter, _ *http.Request) {
	const text = "too large"
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // always on with HTTP/2
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(http.StatusRequestEntityTooLarge)
	_, _ = io.WriteString(w, text)
	_ = control.Flush()
}

// websocket sends every message back, and closes like the client.
func (b *Backend) websocket(w http.ResponseWriter, r *http.Request) {
	connection, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{"echo"},
		InsecureSkipVerify: true,
	})
	if err != nil {
		return // Accept has answered
	}
	defer connection.CloseNow() //nolint:errcheck // closed either way
	connection.SetReadLimit(8 << 20)
	for {
		kind, message, err := connection.Read(r.Context())
		if err != nil {
			return
		}
		if err := connection.Write(r.Context(), kind, message); err != nil {
			return
		}
	}
}
