package protocol

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestCompressed uses the chain, which compresses: the content is the same, and streamed as fast.
func TestCompressed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chained := w.cells[:0]
	for _, c := range w.cells {
		if c.chained {
			chained = append(chained, c)
		}
	}
	w.cells = chained
	prove(t, w, []behaviour{
		{"bodies are the same", nil, proveCompressed},
		{"events come at once", nil, proveCompressedEvents},
		{"trailers", nil, proveCompressedTrailers},
		{"an upstream that breaks off", nil, proveCompressedCut},
		{"WebSocket", speaksHTTP1, proveWebSocketBesideGzip},
		{"gRPC", speaksGRPC, proveGRPCBesideGzip},
	})
}

// encodings are the supported ones with their decoders. A decoder reads no more than it needs.
func encodings() map[string]func(io.Reader) (io.Reader, error) {
	return map[string]func(io.Reader) (io.Reader, error){
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"br":   func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		"zstd": func(r io.Reader) (io.Reader, error) {
			decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) // no goroutines, so that it need not be closed
			return decoder, err
		},
	}
}

// ask sends GET with Accept-Encoding and returns the response after its head, which must have the encoding.
func (c cell) ask(t *testing.T, path, encoding string) *http.Response {
	t.Helper()
	request := c.Request(http.MethodGet, path, nil)
	request.Header.Set("Accept-Encoding", encoding)
	response, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if got := response.Header.Get("Content-Encoding"); got != encoding {
		t.Fatalf("%s: Content-Encoding is %q, want %q", path, got, encoding)
	}
	return response
}

// proveCompressed gets bodies with and without a length, which fit into any buffer or into none.
func proveCompressed(t *testing.T, c cell) {
	for encoding, decode := range encodings() {
		for _, size := range []int64{1024, 100_000, 3 << 20} {
			for _, query := range []string{"", "&chunked"} {
				response := c.ask(t, fmt.Sprintf("/bytes?size=%d%s", size, query), encoding)
				decoder, err := decode(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				hash, n, err := harness.Hash(decoder)
				if err != nil || n != size || hash != harness.PatternHash(size) {
					t.Errorf("%s of %d bytes%s: %d, %v", encoding, size, query, n, err)
				}
			}
		}
	}
}

// proveCompressedEvents decodes each event before the next one is sent.
func proveCompressedEvents(t *testing.T, c cell) {
	for encoding, decode := range encodings() {
		id := t.Name() + encoding
		stream := c.world.backend.Stream(id)
		sent := make(chan struct{})
		go func() { // The head of a response may come with its first event.
			defer close(sent)
			select {
			case stream.Events <- "0":
			case <-t.Context().Done():
			}
		}()
		response := c.ask(t, "/events?id="+escape(id), encoding)
		harness.Await(t, sent, "the first event is sent")
		decoder, err := decode(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(decoder)
		for i := range 10 {
			if i > 0 {
				harness.Send(t, stream.Events, fmt.Sprint(i), "the backend takes an event")
			}
			got, err := lines.ReadString('\n')
			if want := fmt.Sprintf("data: %d\n", i); err != nil || got != want {
				t.Fatalf("%s: got %q, %v; want %q", encoding, got, err, want)
			}
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		close(stream.Events)
		if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
			t.Errorf("%s: at the end: %q, %v", encoding, rest, err)
		}
	}
}

// proveCompressedTrailers gets the trailers of a body that is sent back, compressed, as it comes.
func proveCompressedTrailers(t *testing.T, c cell) {
	for encoding, decode := range encodings() {
		request := c.Request(http.MethodPost, "/mirror", io.MultiReader(harness.Pattern(100_000)))
		request.Header.Set("Accept-Encoding", encoding)
		request.Header.Set("Content-Type", "text/plain") // Otherwise the type of a flush before the first byte is unknown.
		request.Trailer = http.Header{"X-After": {"end"}}
		response, err := c.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := response.Header.Get("Content-Encoding"); got != encoding {
			t.Fatalf("Content-Encoding is %q, want %q", got, encoding)
		}
		decoder, err := decode(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		hash, n, err := harness.Hash(decoder)
		if err != nil || hash != harness.PatternHash(100_000) {
			t.Errorf("%s: %d bytes, %v", encoding, n, err)
		}
		if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
			t.Errorf("%s: at the end: %q, %v", encoding, rest, err)
		}
		if diff := cmp.Diff("end", response.Trailer.Get("X-After")); diff != "" {
			t.Errorf("%s: trailer (-want +got):\n%s", encoding, diff)
		}
		_ = response.Body.Close()
	}
}

// proveCompressedCut never takes a part for the whole, neither by HTTP nor by the encoding.
func proveCompressedCut(t *testing.T, c cell) {
	for encoding := range encodings() {
		for _, query := range []string{"?size=100000", "?size=100000&chunked"} {
			request := c.Request(http.MethodGet, "/cut"+query, nil)
			request.Header.Set("Accept-Encoding", encoding)
			if response, err := c.Try(request); err == nil {
				t.Errorf("%s%s: complete, with status %d and %d bytes", encoding, query, response.StatusCode, len(response.Text))
			}
		}
	}
}

// proveWebSocketBesideGzip opens a WebSocket and accepts gzip.
func proveWebSocketBesideGzip(t *testing.T, c cell) {
	c.Client = c.world.client(t, c.Protocol, c.host)
	c.Transport.DisableCompression = false // It adds Accept-Encoding.
	proveWebSocket(t, c)
}

// proveGRPCBesideGzip calls while it accepts all encodings, of which gRPC makes no use.
func proveGRPCBesideGzip(t *testing.T, c cell) {
	c.accept = "gzip, br, zstd"
	proveUnary(t, c)
	proveStreams(t, c)
	proveStatus(t, c)
}
