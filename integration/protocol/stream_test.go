package protocol

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// large is the size of large bodies. maxMemory bounds what the process takes for all of them at a time, without the
// pages of its binary: it needs 50 to 80 MiB, and a collected body would add more than what is left.
const (
	large     = 64 << 20
	maxMemory = 104 << 20
)

// proveLarge sends and gets large bodies, with and without a length.
func proveLarge(t *testing.T, c cell) {
	want := harness.PatternHash(large)
	for _, length := range []int64{large, -1} {
		request := c.Request(http.MethodPost, "/upload", harness.Pattern(large))
		request.ContentLength = length
		got := c.Send(request).Echo(t)
		if got.BodyLength != large || got.BodyHash != want || got.ContentLength != length {
			t.Errorf("upload of length %d: %d bytes, announced as %d", length, got.BodyLength, got.ContentLength)
		}
	}
	for _, query := range []string{"", "&chunked"} {
		response, err := c.Do(c.Request(http.MethodGet, fmt.Sprintf("/bytes?size=%d%s", large, query), nil))
		if err != nil {
			t.Fatal(err)
		}
		hash, n, err := harness.Hash(response.Body)
		_ = response.Body.Close()
		if err != nil || n != large || hash != want {
			t.Errorf("download%s: %d bytes, %v", query, n, err)
		}
	}
	_, peak := c.world.sluice.Memory()
	if own := peak - c.world.sluice.MappedMemory(); own > maxMemory {
		t.Errorf("the process took %d MiB of memory", own>>20)
	}
}

// proveMirror sends each piece after it has got the one before back.
func proveMirror(t *testing.T, c cell) {
	body, writer := io.Pipe()
	defer writer.Close() //nolint:errcheck // It does not fail.
	request := c.Request(http.MethodPost, "/mirror", body)
	request.Trailer = http.Header{"X-After": {"end"}}
	response, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // It was read.
	for i := range 20 {
		piece := bytes.Repeat([]byte{byte('a' + i)}, 1+i*1000)
		if _, err := writer.Write(piece); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(piece))
		if _, err := io.ReadFull(response.Body, got); err != nil || !bytes.Equal(got, piece) {
			t.Fatalf("piece %d came back as %.20q, %v", i, got, err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
		t.Errorf("at the end: %q, %v", rest, err)
	}
	if got := response.Trailer.Get("X-After"); got != "end" {
		t.Errorf("trailer %q", got)
	}
}

// proveEvents gets each event before the next one is sent.
func proveEvents(t *testing.T, c cell) {
	stream := c.world.backend.Stream(t.Name())
	response, err := c.Do(c.Request(http.MethodGet, "/events?id="+escape(t.Name()), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // It was read.
	lines := bufio.NewReader(response.Body)
	for i := range 20 {
		harness.Send(t, stream.Events, fmt.Sprint(i), "the backend takes an event")
		got, err := lines.ReadString('\n')
		if want := fmt.Sprintf("data: %d\n", i); err != nil || got != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	close(stream.Events)
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("at the end: %q, %v", rest, err)
	}
}

// proveSlow gets the beginning of a response whose end is not there yet.
func proveSlow(t *testing.T, c cell) {
	stream := c.world.backend.Stream(t.Name())
	response, err := c.Do(c.Request(http.MethodGet, "/slow?id="+escape(t.Name()), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // It was read.
	first := make([]byte, len("first"))
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "first" {
		t.Fatalf("got %q, %v", first, err)
	}
	close(stream.Events)
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != "last" {
		t.Errorf("got %q, %v", rest, err)
	}
}

// watched is a body that notices when it is read.
type watched struct {
	io.Reader
	once sync.Once
	read chan struct{}
}

// Read reads and notices.
func (w *watched) Read(p []byte) (int, error) {
	w.once.Do(func() { close(w.read) })
	return w.Reader.Read(p)
}

func expecting(t *testing.T, c cell, path string, trace *httptrace.ClientTrace) (*http.Request, *watched) {
	t.Helper()
	body := &watched{Reader: bytes.NewReader(make([]byte, 100)), read: make(chan struct{})}
	request := c.Request(http.MethodPost, path, body)
	request.ContentLength = 100
	request.Header.Set("Expect", "100-continue")
	if trace != nil {
		request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
	}
	return request, body
}

// proveContinue sends the body after 100 Continue. Without it the client would wait for longer than the test.
func proveContinue(t *testing.T, c cell) {
	told := false
	request, _ := expecting(t, c, "/expect", &httptrace.ClientTrace{Got100Continue: func() { told = true }})
	if got := c.Send(request).Echo(t); got.BodyLength != 100 {
		t.Errorf("%d bytes arrived", got.BodyLength)
	}
	if !told {
		t.Error("no 100 Continue")
	}
}

// proveRefused gets the final response before the body is sent. Over HTTP/2 the standard library's server answers the
// expectation itself, so the body is sent in vain.
func proveRefused(t *testing.T, c cell) {
	request, body := expecting(t, c, "/refuse", &httptrace.ClientTrace{Got100Continue: func() { t.Error("100 Continue") }})
	if got := c.Send(request); got.StatusCode != http.StatusRequestEntityTooLarge || got.Text != "too large" {
		t.Errorf("status %d, body %q", got.StatusCode, got.Text)
	}
	select {
	case <-body.read:
		t.Error("the body was sent")
	default:
	}
}

// proveEarly gets two 103 before the response, whose head they do not change.
func proveEarly(t *testing.T, c cell) {
	var links []string
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
		links = append(links, fmt.Sprint(code, " ", header.Get("Link")))
		return nil
	}}
	request := c.Request(http.MethodGet, "/early", nil)
	got := c.Send(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	want := []string{"103 </style.css>; rel=preload", "103 </script.js>; rel=preload"}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("informational responses (-want +got):\n%s", diff)
	}
	if got.Text != "final" || got.Header.Get("X-Final") != "yes" || got.Header.Get("Link") != "" {
		t.Errorf("final response: %q, %v", got.Text, got.Header)
	}
}

// proveWebSocket sends messages both ways and closes.
func proveWebSocket(t *testing.T, c cell) {
	connection := c.WebSocket("/websocket")
	if got := connection.Subprotocol(); got != "echo" {
		t.Errorf("subprotocol %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, message := range [][]byte{[]byte("hello"), {}, bytes.Repeat([]byte{7}, 1<<20)} {
		if err := connection.Write(ctx, websocket.MessageBinary, message); err != nil {
			t.Fatal(err)
		}
		kind, got, err := connection.Read(ctx)
		if err != nil || kind != websocket.MessageBinary || !bytes.Equal(got, message) {
			t.Fatalf("%d bytes came back as %v of %d bytes, %v", len(message), kind, len(got), err)
		}
	}
	// Close waits for the other side's close frame.
	if err := connection.Close(websocket.StatusNormalClosure, "done"); err != nil {
		t.Errorf("closing: %v", err)
	}
}
