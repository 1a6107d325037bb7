package compress

import (
	"net/http"
	"slices"
)

// sampleBytes is how much of a body is used to detect its type.
const sampleBytes = 512

// head handles the final status. It decides early if the head is sufficient.
func (w *writer) head(status int) {
	w.status = status
	header := w.inner.Header()
	kind := first(header["Content-Type"])
	w.declared = contentLength(header)
	switch {
	case kind != "" && !w.compress.types.allows(kind), w.declared != lengthUnknown && w.declared < w.compress.minimum,
		!eligible(status, header):
		_ = w.pass() // nothing is held that could fail
	case kind != "" && w.declared != lengthUnknown:
		w.begin(header)
	default:
		w.kept.keep(header)
	}
}

func (w *writer) write(p []byte) (int, error) {
	if w.state == undecided && w.status == 0 {
		w.head(http.StatusOK)
	}
	switch w.state {
	case ended:
		return 0, errEnded
	case passing:
		return w.inner.Write(p)
	}
	if w.declared != lengthUnknown && w.written+int64(len(p)) > w.declared {
		return 0, http.ErrContentLength
	}
	if w.state == undecided {
		if w.declared == lengthUnknown && int64(len(w.held)+len(p)) < min(w.compress.minimum, holdBytes) {
			w.held = append(w.held, p...)
			w.written += int64(len(p))
			return len(p), nil
		}
		if err := w.decide(p); err != nil {
			return 0, err
		}
		if w.state == passing {
			return w.inner.Write(p)
		}
	}
	w.written += int64(len(p))
	return w.encode(p)
}

func (w *writer) encode(p []byte) (int, error) {
	if w.stream.err != nil {
		return 0, w.stream.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	w.fresh = true
	return w.stream.encoder.Write(p)
}

// decide handles a body that is large enough or flushed: only its type remains to be checked. next follows the held
// bytes.
func (w *writer) decide(next []byte) error {
	header := w.inner.Header()
	if later := w.kept.swap(header); later != nil {
		defer replace(header, later)
	}
	kind, detected := first(header["Content-Type"]), false
	if kind == "" {
		kind, detected = w.detect(next)
	}
	if kind == "" || !w.compress.types.allows(kind) {
		w.kept.header = nil
		return w.pass()
	}
	if _, guarded := header["X-Content-Type-Options"]; detected && !guarded {
		// The type cannot be detected from the encoded body. nosniff forbids detection.
		header["Content-Type"] = []string{kind}
	}
	if !w.begin(header) {
		return nil
	}
	held := w.held
	w.held = nil
	_, err := w.encode(held)
	return err
}

// detect detects the type of the body, if there is one.
func (w *writer) detect(next []byte) (kind string, detected bool) {
	sample := w.held
	if missing := sampleBytes - len(sample); missing > 0 {
		sample = slices.Concat(sample, next[:min(missing, len(next))])
	}
	if len(sample) == 0 {
		return "", false
	}
	return http.DetectContentType(sample), true
}

// begin sends the head of a compressed response.
func (w *writer) begin(header http.Header) bool {
	stream, err := w.compress.begin(w.coding, w.inner)
	if err != nil {
		_ = w.pass()
		return false
	}
	w.stream = stream
	w.coding.describe(header)
	w.state = compressing
	w.inner.WriteHeader(w.status)
	return true
}

// pass sends the head of an uncompressed response and the held part of its body.
func (w *writer) pass() error {
	header := w.inner.Header()
	later := w.kept.swap(header)
	w.inner.WriteHeader(w.status)
	if later != nil {
		replace(header, later)
	}
	w.compress.counts.skipped.Add(1)
	// Writers without the mutex must wait until the held part is sent.
	defer w.passes.Store(true)
	held := w.held
	w.held, w.kept.header, w.state = nil, nil, passing
	if len(held) == 0 {
		return nil
	}
	_, err := w.inner.Write(held)
	return err
}

// drain flushes the encoder.
func (w *writer) drain() error {
	if w.fresh && w.stream.err == nil {
		w.fresh = false
		if err := w.stream.encoder.Flush(); err != nil {
			return err
		}
	}
	return w.stream.spill()
}

// release returns the encoder and updates the counters.
func (w *writer) release() {
	if w.stream == nil {
		return
	}
	counts := &w.compress.counts
	counts.compressed.Add(1)
	counts.in.Add(uint64(w.written)) //nolint:gosec // not negative
	counts.out.Add(w.stream.out)
	w.compress.end(w.coding, w.stream)
	w.stream = nil
}
