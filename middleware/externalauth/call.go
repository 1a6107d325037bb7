package externalauth

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
	"github.com/sluiceproxy/sluice/telemetry"
)

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 1 << 20

var (
	errAnswerTooLarge = errors.New("its answer is larger than 1 MiB")
	errBroken         = errors.New("its answer is not whole")
	errNone           = errors.New("it has not answered")
)

// newRequest returns a request to the service about r, from the same client, with its own record: what becomes of it
// must not be taken for what becomes of r. Retries are those that the service has configured. It has no path yet.
func newRequest(ctx context.Context, r *http.Request, method string, body []byte) *http.Request {
	record := &telemetry.Record{Client: telemetry.RecordFrom(r.Context()).Client}
	q := r.WithContext(telemetry.WithRecord(retry.WithPolicy(ctx, nil), record))
	q.Method, q.URL = method, &url.URL{Path: "/"}
	q.Body, q.GetBody, q.ContentLength = http.NoBody, nil, 0
	q.TransferEncoding, q.Trailer = nil, nil
	q.Form, q.PostForm, q.MultipartForm, q.Pattern = nil, nil, nil, ""
	if len(body) > 0 {
		q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return q
}

// reply is what the service answered.
type reply struct {
	status  int
	header  http.Header
	trailer http.Header
	body    []byte
}

// call has the service answer. What the proxy answers in its place, since no endpoint does, is an error.
func call(service http.Handler, q *http.Request) (answered *reply, err error) {
	w := &recorder{header: http.Header{}}
	defer func() {
		if failure := recover(); failure != nil {
			if failure != http.ErrAbortHandler { //nolint:errorlint // It is that value, as net/http compares it.
				panic(failure)
			}
			answered, err = nil, errBroken
		}
	}()
	service.ServeHTTP(w, q)
	record := telemetry.RecordFrom(q.Context())
	switch {
	case q.Context().Err() != nil:
		return nil, q.Context().Err()
	case record.Reason != "":
		return nil, errors.New(record.Reason)
	case record.Code != "":
		return nil, errors.New(string(record.Code))
	case record.Broken:
		return nil, errBroken
	case w.large:
		return nil, errAnswerTooLarge
	case w.status == 0:
		return nil, errNone
	}
	trailer := w.trailer() // Their announcement is hop-by-hop.
	forwarded.RemoveHopByHop(w.sent, nil)
	return &reply{status: w.status, header: w.sent, trailer: trailer, body: w.body.Bytes()}, nil
}

// recorder keeps an answer in memory.
type recorder struct {
	header http.Header
	// sent is the head of the final answer.
	sent   http.Header
	status int
	body   bytes.Buffer
	large  bool
}

// Header returns the headers, and the trailers once the head has been written.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader keeps the head, unless it is informational.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		w.status, w.sent = status, w.header.Clone()
	}
}

// Write keeps a part of the body. It fails when the body is too large, so that the service ends the exchange.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(p) > maxAnswer {
		w.large = true
		return 0, errAnswerTooLarge
	}
	return w.body.Write(p)
}

// Flush does nothing: the answer is used when it is whole.
func (w *recorder) Flush() { w.WriteHeader(http.StatusOK) }

// trailer returns the trailers, announced or not.
func (w *recorder) trailer() http.Header {
	trailer := http.Header{}
	for name, values := range w.header {
		if late, found := strings.CutPrefix(name, http.TrailerPrefix); found {
			trailer[http.CanonicalHeaderKey(late)] = values
		}
	}
	for _, list := range w.sent["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if values := w.header[name]; len(values) > 0 {
				trailer[name] = values
			}
		}
	}
	return trailer
}
