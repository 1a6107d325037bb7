package telemetry

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

// Handler answers with the metrics page: text, or protobuf with native histograms for who asks for that. What cannot be gathered does not
// take the rest along.
//
// Both are written as they are read, without anything being made of them before: with thousands of routers there are hundreds of thousands
// of lines.
func (m *Metrics) Handler() http.Handler {
	options := promhttp.HandlerOpts{Registry: m.registry, ErrorHandling: promhttp.ContinueOnError}
	whole := promhttp.HandlerFor(m.Gatherer(), options)
	options.DisableCompression = true
	registered := promhttp.HandlerFor(m.registry, options)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...)
		write := map[expfmt.FormatType]func(io.Writer, sight) error{
			expfmt.TypeTextPlain: m.scraped.write, expfmt.TypeProtoDelim: m.scraped.writeDelimited,
		}[format.FormatType()]
		if write == nil || strings.Contains(r.URL.RawQuery, "name") {
			whole.ServeHTTP(w, r) // To people who look, or who ask for some metrics by name.
			return
		}
		p := newSheet(w, r)
		defer p.close()
		registered.ServeHTTP(p, r)
		if !p.failed && r.Method != http.MethodHead {
			sight := m.scraped.look()
			if write(p, sight) == nil {
				m.scraped.saw(sight)
			}
		}
	})
}

// sheet is the response that a page of text is written to, compressed where the client likes that.
type sheet struct {
	http.ResponseWriter
	squeezed *gzip.Writer
	began    bool
	// failed says that the response is an error.
	failed bool
}

func newSheet(w http.ResponseWriter, r *http.Request) *sheet {
	p := &sheet{ResponseWriter: w}
	w.Header().Add("Vary", "Accept-Encoding")
	if r.Method != http.MethodHead && takesGzip(r.Header) {
		// A fifth of the time of the default, for a page that is no secret and is read once.
		p.squeezed, _ = gzip.NewWriterLevel(w, gzip.BestSpeed) // The level is one.
	}
	return p
}

// takesGzip reports whether a client takes a response in gzip (RFC 9110, section 12.5.3).
func takesGzip(header http.Header) bool {
	for _, values := range header["Accept-Encoding"] {
		for coding := range strings.SplitSeq(values, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			weight = strings.Trim(strings.ReplaceAll(weight, " ", ""), "0.")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") && weight != "q=" {
				return true
			}
		}
	}
	return false
}

// WriteHeader sends the header.
func (p *sheet) WriteHeader(status int) {
	if p.began {
		return
	}
	p.began, p.failed = true, status != http.StatusOK
	if p.failed {
		p.squeezed = nil
	}
	if p.squeezed != nil {
		p.Header().Set("Content-Encoding", "gzip")
	}
	p.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the page.
func (p *sheet) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	if p.squeezed != nil {
		return p.squeezed.Write(b)
	}
	return p.ResponseWriter.Write(b)
}

// close sends what is left.
func (p *sheet) close() {
	if p.squeezed != nil && p.began {
		_ = p.squeezed.Close() // A client that left is noticed by the server.
	}
}
