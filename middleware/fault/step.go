package fault

import (
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// injected is the recorded reason.
const injected = "injected"

// Wrap returns a handler that injects the faults which are drawn for a request, and calls next unless one of them ends
// it. Without faults that is next itself.
func (f *Fault) Wrap(next http.Handler) http.Handler {
	if f.delay == 0 && f.reset == 0 && f.abort == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.selects(r) || f.inject(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// selects reports whether the request has all headers.
func (f *Fault) selects(r *http.Request) bool {
	for i := range f.headers {
		if !f.headers[i].in(r) {
			return false
		}
	}
	return true
}

// in reports whether a request has the header. Fields whose name is an alias, such as X_A for X-A, do not count.
func (h *header) in(r *http.Request) bool {
	if h.name == "Host" {
		return h.value == "" || h.value == r.Host
	}
	for _, value := range r.Header[h.name] {
		if h.value == "" || h.value == value {
			return true
		}
	}
	return false
}

// draw reports whether a request is in the share.
func (f *Fault) draw(s share) bool {
	return s == whole || s > 0 && f.random(int64(whole)) < int64(s)
}

// inject injects the faults that are drawn, and reports whether the request goes on. A reset panics with
// [http.ErrAbortHandler].
func (f *Fault) inject(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	if f.draw(f.delay) && !f.hold(w, r) {
		return false
	}
	if f.draw(f.reset) {
		f.end(w, r)
	}
	if !f.draw(f.abort) {
		return true
	}
	f.aborted.Add(1)
	// Otherwise a status such as 429 would be recorded as that of a limit.
	telemetry.RecordFrom(r.Context()).Code = telemetry.CodeMiddleware
	if f.grpcStatus != noGRPCStatus && httpio.IsGRPC(r) {
		answer.Note(r, f.name, injected)
		httpio.GRPCError(w, f.grpcStatus, injected)
		return false
	}
	answer.Refuse(w, r, f.status, f.name, injected)
	return false
}

// hold holds a request back, unless maxActive requests are, and reports whether the client is still there.
func (f *Fault) hold(w http.ResponseWriter, r *http.Request) bool {
	defer f.active.Add(-1)
	if active := f.active.Add(1); f.maxActive > 0 && active > f.maxActive {
		f.over.Add(1)
		return true
	}
	f.delayed.Add(1)
	timer := time.NewTimer(f.duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		answer.Leave(w, r, f.name, "the end of the injected delay")
		return false
	}
}

// end cuts the response off: the connection of HTTP/1.1 or the stream of HTTP/2 and HTTP/3 is reset. After the head a
// connection is closed within the body instead: a reset might overtake the head.
func (f *Fault) end(w http.ResponseWriter, r *http.Request) {
	f.cut.Add(1)
	answer.Note(r, f.name, injected)
	if f.afterHead {
		if httpio.IsGRPC(r) {
			w.Header().Set("Content-Type", "application/grpc")
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // A client that has left is gone either way.
	} else {
		telemetry.RecordFrom(r.Context()).Status = telemetry.StatusNoResponse
		httpio.ResetConn(w)
	}
	panic(http.ErrAbortHandler)
}
