package compress

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	http1 "github.com/sluiceproxy/sluice/http1/server"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// made returns a compress with the defaults and what change makes of them.
func made(t testing.TB, change func(*dynamic.Compress)) *Compress {
	t.Helper()
	var config dynamic.Compress
	config.SetDefaults()
	if change != nil {
		change(&config)
	}
	c, err := New("test@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// server is a running server with a client that decodes nothing by itself.
type server struct {
	url    string
	client *http.Client
}

// servers are the ways in which a handler can be served.
func servers() map[string]func(*testing.T, http.Handler) server {
	return map[string]func(*testing.T, http.Handler) server{
		"net/http h1": func(t *testing.T, handler http.Handler) server { return standard(t, handler, false) },
		"net/http h2": func(t *testing.T, handler http.Handler) server { return standard(t, handler, true) },
		"http1":       own,
	}
}

func standard(t *testing.T, handler http.Handler, h2 bool) server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = h2
	if h2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	client := s.Client()
	client.Transport.(*http.Transport).DisableCompression = true
	return server{s.URL, client}
}

func own(t *testing.T, handler http.Handler) server {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	front := http1test.Serve(t, &http1.Server{Handler: handler}, nil)
	return server{"http://" + front.Address, &http.Client{Transport: transport}}
}

// get sends a request with Accept-Encoding, unless it is "-", and with other fields as names and values.
func (s server) get(t *testing.T, accept string, fields ...string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "-" {
		request.Header.Set("Accept-Encoding", accept)
	}
	for i := 0; i < len(fields); i += 2 {
		request.Header.Add(fields[i], fields[i+1])
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// decoder returns a reader of what a body was before.
func decoder(t testing.TB, encoding string, body io.Reader) io.Reader {
	t.Helper()
	switch encoding {
	case "":
		return body
	case "gzip":
		reader, err := gzip.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		return reader
	case "br":
		return brotli.NewReader(body)
	case "zstd":
		reader, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(reader.Close)
		return reader
	}
	t.Fatalf("the response is in %q", encoding)
	return nil
}

// decoded reads all of a response.
func decoded(t testing.TB, response *http.Response) []byte {
	t.Helper()
	body, err := io.ReadAll(decoder(t, response.Header.Get("Content-Encoding"), response.Body))
	if err != nil {
		t.Fatalf("reading a body in %q: %v", response.Header.Get("Content-Encoding"), err)
	}
	return body
}

// text returns a body that compresses.
func text(size int) []byte {
	return bytes.Repeat([]byte("All that is gold does not glitter. "), size/35+1)[:size]
}

// page returns something like a page: markup that repeats, and words and numbers that do less.
func page(size int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 500)
	for i := range words {
		word := make([]byte, 2+random.IntN(9))
		for j := range word {
			word[j] = "etaoinshrdlucmfwyp"[random.IntN(1+random.IntN(18))]
		}
		words[i] = string(word)
	}
	var b bytes.Buffer
	for b.Len() < size {
		fmt.Fprintf(&b, "<div class=\"row\"><a href=\"/%s/%d\">%s</a>", words[random.IntN(50)], random.IntN(100_000),
			words[random.IntN(500)])
		for range random.IntN(12) {
			fmt.Fprintf(&b, " %s", words[random.IntN(1+random.IntN(500))])
		}
		b.WriteString("</div>\n")
	}
	return b.Bytes()[:size]
}
