package compress

import (
	"net/http"
	"slices"
)

// sampleBytes is how much of a body tells its type.
const sampleBytes = 512

// head takes the final status. It decides about the response as soon as the head says enough.
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

// write takes a part of the body.
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

// decide is for a body that is large enough, or that is flushed: its type is what is left to ask. next is what follows
// what is held.
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
		// Nobody behind can tell it by the encoded body. Who forbids the browser to guess must not have it guessed here.
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

// detect tells the type of the body by its beginning, if there is any.
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

// pass sends the head of a response that is not compressed, and what is held of its body.
func (w *writer) pass() error {
	header := w.inner.Header()
	later := w.kept.swap(header)
	w.inner.WriteHeader(w.status)
	if later != nil {
		replace(header, later)
	}
	w.compress.counts.skipped.Add(1)
	// Who writes without the mutex must not get ahead of what is held.
	defer w.passes.Store(true)
	held := w.held
	w.held, w.kept.header, w.state = nil, nil, passing
	if len(held) == 0 {
		return nil
	}
	_, err := w.inner.Write(held)
	return err
}

// drain sends what the encoder has.
func (w *writer) drain() error {
	if w.fresh && w.stream.err == nil {
		w.fresh = false
		if err := w.stream.encoder.Flush(); err != nil {
			return err
		}
	}
	return w.stream.spill()
}

// release gives the encoder back, and counts.
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
