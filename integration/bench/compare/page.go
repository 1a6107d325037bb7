package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// pageBytes is the length of the compressed page.
const pageBytes = 64 << 10

// page returns typical markup with words and numbers, the same in every run.
func page() []byte {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // reproducible
	words := make([]string, 500)
	for i := range words {
		word := make([]byte, 2+random.IntN(9))
		for j := range word {
			word[j] = "etaoinshrdlucmfwyp"[random.IntN(1+random.IntN(18))]
		}
		words[i] = string(word)
	}
	var text bytes.Buffer
	for text.Len() < pageBytes {
		fmt.Fprintf(&text, "<div class=\"row\"><a href=\"/%s/%d\">%s</a>", words[random.IntN(50)], random.IntN(100_000),
			words[random.IntN(500)])
		for range random.IntN(12) {
			fmt.Fprintf(&text, " %s", words[random.IntN(1+random.IntN(500))])
		}
		text.WriteString("</div>\n")
	}
	return text.Bytes()[:pageBytes]
}

// decode returns a reader of the uncompressed response. An unexpected encoding is an error.
func (t target) decode(response *http.Response) (io.Reader, error) {
	encoding := response.Header.Get("Content-Encoding")
	if t.encoded != (encoding != "") {
		return nil, fmt.Errorf("%s answers with the encoding %q", t.path, encoding)
	}
	switch encoding {
	case "":
		return response.Body, nil
	case "gzip":
		return gzip.NewReader(response.Body)
	case "br":
		return brotli.NewReader(response.Body), nil
	case "zstd":
		return zstd.NewReader(response.Body, zstd.WithDecoderConcurrency(1))
	}
	return nil, fmt.Errorf("%s answers with the encoding %q", t.path, encoding)
}
