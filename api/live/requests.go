package live

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

// Requests streams finished requests; it is implemented by accesslog.Tail.
type Requests interface {
	// Watch returns a viewer of the requests that a filter selects, or accesslog.ErrTooManyViewers. It must be closed.
	Watch(filter accesslog.TailFilter) (*accesslog.Viewer, error)
}

// Lost is the data of the event lost.
type Lost struct {
	// Requests counts the selected requests that were left out because too many came at once, since the last event.
	Requests uint64 `json:"requests"`
}

// requests streams the requests that the query selects, from now on:
//
//	hello    at the beginning
//	request  for each request, with the line that the access log has in the format json
//	lost     when requests were left out
func (l *Live) requests(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		l.refuse(w, http.StatusBadRequest, "query: "+err.Error())
		return
	}
	filter, err := accesslog.ParseTailFilter(query)
	if err != nil {
		l.refuse(w, http.StatusBadRequest, "query: "+err.Error())
		return
	}
	s, ends, ok := l.open(w)
	if !ok {
		return
	}
	defer ends()
	viewer, err := l.options.Requests.Watch(filter)
	if errors.Is(err, accesslog.ErrTooManyViewers) {
		w.Header().Set("Retry-After", "5")
		l.refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer viewer.Close()
	if !s.start(r) {
		return
	}
	state := l.options.State.State()
	s.event("hello", "", Hello{Version: l.options.Version, Generation: state.Generation, Ready: state.Ready})
	l.relay(r.Context(), s, viewer)
}

// lostInterval is how long lost requests wait at most until they are reported.
const lostInterval = time.Second

// relay writes the requests of a viewer until the client leaves or Sluice drains.
func (l *Live) relay(ctx context.Context, s *stream, viewer *accesslog.Viewer) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	lost := time.NewTicker(lostInterval)
	defer lost.Stop()
	for s.flush() {
		select {
		case line := <-viewer.Lines():
			viewer.Release(line)
			s.raw("request", line)
		case <-lost.C:
			if requests := viewer.Lost(); requests > 0 {
				s.event("lost", "", Lost{Requests: requests})
			}
		case <-beat.C:
			s.comment()
		case <-ctx.Done():
			return
		case <-l.draining:
			return
		}
	}
}
