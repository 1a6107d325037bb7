package buffering

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// run calls next, and reports whether it has returned. A response that next has aborted is one that broke off, or that was refused: as long
// as the client has seen nothing of it and is there, it can be answered.
func (w *writer) run(r *http.Request) (completed bool) {
	defer func() {
		if completed || !w.answerable() {
			return
		}
		//nolint:errorlint // net/http compares the value of a panic the same way.
		if cause := recover(); cause != http.ErrAbortHandler {
			panic(cause)
		}
	}()
	w.exchange.next.ServeHTTP(w, r)
	return true
}

// answerable reports whether something is left to do: the client waits for an answer, of which nothing has been sent, or finish aborts it.
func (w *writer) answerable() bool {
	switch w.phase {
	case cut:
		return true
	case keeping, forgetting, refused:
		return w.exchange.request.Context().Err() == nil
	default:
		return false
	}
}

// finish sends what is due after next, and reports whether there shall be another try instead.
func (w *writer) finish(completed bool) (again bool) {
	x := w.exchange
	switch w.phase {
	case forgetting:
		return true
	case refused:
		w.refuseResponse()
	case keeping:
		if completed {
			w.commit()
			break
		}
		if x.repeats(w.number, http.StatusBadGateway) {
			return true
		}
		x.breakOff()
	case passing:
		if !w.through {
			w.copyTrailers()
		}
	case cut:
		x.buffering.responseTooLarge.Add(1)
		answer.Note(x.request, x.buffering.name, x.buffering.responseReason())
		panic(http.ErrAbortHandler)
	case waiting:
		return w.finishUnwritten()
	case taken:
	}
	return false
}

// finishUnwritten ends a try without a status, which stands for 200, unless next had nobody to answer any more.
func (w *writer) finishUnwritten() (again bool) {
	x := w.exchange
	ctx := x.request.Context()
	if w.through || ctx.Err() != nil || telemetry.RecordFrom(ctx).Status == telemetry.StatusClientClosedRequest {
		return false
	}
	if x.repeats(w.number, http.StatusOK) {
		return true
	}
	replace(x.writer.Header(), w.header)
	return false
}

// commit sends a response that is whole.
func (w *writer) commit() {
	x := w.exchange
	if w.hasTrailers() {
		delete(w.head, "Content-Length")
	} else if _, declared := w.head["Content-Length"]; !declared && !bodiless(w.status) && (w.body.size() > 0 || x.request.Method != http.MethodHead) {
		w.head["Content-Length"] = []string{strconv.FormatInt(w.body.size(), 10)}
	}
	replace(x.writer.Header(), w.head)
	x.writer.WriteHeader(w.status)
	if w.body.size() > 0 {
		if _, err := w.body.WriteTo(x.writer); err != nil {
			answer.Note(x.request, x.buffering.name, "sending the response: "+err.Error())
			panic(http.ErrAbortHandler)
		}
	}
	w.copyTrailers()
}

// hasTrailers reports whether something follows the body.
func (w *writer) hasTrailers() bool {
	if len(w.head["Trailer"]) > 0 {
		return true
	}
	for name := range w.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// refuseResponse answers in place of a response that could not be kept.
func (w *writer) refuseResponse() {
	x := w.exchange
	reason := "keeping the response: " + w.failure.Error()
	if errors.Is(w.failure, errTooLarge) {
		x.buffering.responseTooLarge.Add(1)
		reason = x.buffering.responseReason()
	}
	answer.Refuse(x.writer, x.request, http.StatusInternalServerError, x.buffering.name, reason)
}

// breakOff answers in place of a response that broke off.
func (x *exchange) breakOff() {
	reason := "the response broke off"
	if cause := telemetry.RecordFrom(x.request.Context()).Reason; cause != "" {
		reason += ": " + cause
	}
	answer.Refuse(x.writer, x.request, http.StatusBadGateway, x.buffering.name, reason)
}
