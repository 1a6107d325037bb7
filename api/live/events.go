package live

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// maxListeners is the maximum number of event streams.
	maxListeners = 64
	// heartbeat is the interval of comments that keep idle connections open.
	heartbeat = 15 * time.Second
	// writeTimeout bounds each write to a client.
	writeTimeout = 10 * time.Second
)

// Hello is the data of the event hello, which begins each stream, and (without Version) of the event ready.
type Hello struct {
	// Version is the version of Sluice.
	Version string `json:"version,omitempty"`
	// Generation is the active generation, 0 for none. Ready is as in /api/ready.
	Generation uint64 `json:"generation"`
	Ready      bool   `json:"ready"`
}

// Verdicts is the data of the event verdicts.
type Verdicts struct {
	// Worse lists new and changed negative verdicts; at most 200.
	Worse []api.Finding `json:"worse"`
	// Recovered lists the objects whose negative verdict is gone, or which are removed; at most 200.
	Recovered []Object `json:"recovered"`
}

// events streams what happens until the listener leaves, reads too slowly, or Sluice drains:
//
//	hello       at the beginning
//	generation  for each table that is activated, with its number as id, as in the list of /api/generations
//	verdicts    when negative verdicts are new, changed or gone
//	providers   when the state of a provider changes, and at the beginning: all of them, as in /api/ready
//	ready       when readiness changes
//
// A listener that comes back with the header Last-Event-ID gets the generations that it has missed, as far as they are
// known.
func (l *Live) events(w http.ResponseWriter, r *http.Request) {
	s, ends, ok := l.open(w)
	if !ok {
		return
	}
	defer ends()
	if !s.start(r) {
		return
	}
	state := l.options.State.State()
	last, resumes := lastEvent(r)
	s.begin(state, l.options.Version, last, resumes)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for s.flush() {
		select {
		case <-state.Changed:
			next := l.options.State.State()
			s.follow(state, next)
			state = next
		case <-beat.C:
			s.comment()
		case <-r.Context().Done():
			return
		case <-l.draining:
			return
		}
	}
}

// open counts a stream, or refuses it. The caller calls ends when the stream is over.
func (l *Live) open(w http.ResponseWriter) (s *stream, ends func(), ok bool) {
	select {
	case <-l.draining:
		l.refuse(w, http.StatusServiceUnavailable, "Sluice is shutting down")
		return nil, nil, false
	default:
	}
	if l.listeners.Add(1) > maxListeners {
		l.listeners.Add(-1)
		w.Header().Set("Retry-After", "5")
		l.refuse(w, http.StatusServiceUnavailable, "the limit of "+strconv.Itoa(maxListeners)+" event streams is reached")
		return nil, nil, false
	}
	s = &stream{out: w, control: http.NewResponseController(w), logger: l.options.Logger}
	return s, func() { l.listeners.Add(-1) }, true
}

// lastEvent returns the generation that the client received last, from Last-Event-ID.
func lastEvent(r *http.Request) (number uint64, ok bool) {
	number, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
	return number, err == nil
}

// stream writes the events of one client. Events are collected first and written as a whole.
type stream struct {
	out     http.ResponseWriter
	control *http.ResponseController
	pending []byte
	logger  telemetry.Logger
	// sent is the last generation that was sent.
	sent uint64
}

// start writes the head of the response, and reports whether events follow.
func (s *stream) start(r *http.Request) bool {
	header := s.out.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // Otherwise nginx and similar proxies buffer events.
	s.out.WriteHeader(http.StatusOK)
	return r.Method != http.MethodHead
}

func (s *stream) begin(state *pipeline.State, version string, last uint64, resumes bool) {
	s.event("hello", "", Hello{Version: version, Generation: state.Generation, Ready: state.Ready})
	s.sent = state.Generation
	if resumes && last < state.Generation {
		s.sent = last
		s.generations(state)
	}
	s.event("providers", "", api.NewReadiness(state).Providers)
}

// follow adds the events for the change from before to next.
func (s *stream) follow(before, next *pipeline.State) {
	s.generations(next)
	s.verdicts(before, next)
	if !next.SameProviders(before) {
		s.event("providers", "", api.NewReadiness(next).Providers)
	}
	if next.Ready != before.Ready {
		s.event("ready", "", Hello{Generation: next.Generation, Ready: next.Ready})
	}
}

func (s *stream) generations(state *pipeline.State) {
	for i := range state.Generations {
		if generation := &state.Generations[i]; generation.Number > s.sent {
			s.sent = generation.Number
			s.event("generation", strconv.FormatUint(generation.Number, 10), newGeneration(generation))
		}
	}
}

// verdicts adds the event for changed verdicts.
func (s *stream) verdicts(before, next *pipeline.State) {
	if len(before.Verdicts) == len(next.Verdicts) && (len(next.Verdicts) == 0 ||
		&before.Verdicts[0] == &next.Verdicts[0]) {
		return
	}
	worse, recovered := pipeline.Difference(before.Verdicts, next.Verdicts)
	if len(worse)+len(recovered) > 0 {
		s.event("verdicts", "", Verdicts{
			Worse:     findings(worse[:min(len(worse), pipeline.MaxChanges)]),
			Recovered: objects(recovered[:min(len(recovered), pipeline.MaxChanges)]),
		})
	}
}

// event adds an event; JSON has no line breaks.
func (s *stream) event(name, id string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		s.logger.Error("event cannot be written as JSON", "event", name, "error", err)
		return
	}
	if id != "" {
		s.pending = append(append(append(s.pending, "id: "...), id...), '\n')
	}
	s.raw(name, text)
}

// raw adds an event without an id, with data that has no line breaks.
func (s *stream) raw(name string, data []byte) {
	s.pending = append(append(append(s.pending, "event: "...), name...), "\ndata: "...)
	s.pending = append(append(s.pending, data...), "\n\n"...)
}

// comment adds a line that clients ignore.
func (s *stream) comment() { s.pending = append(s.pending, ":\n\n"...) }

// flush writes the collected events, and reports whether the stream goes on.
func (s *stream) flush() bool {
	// Writers without deadlines are possible; the entrypoint's supports them.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := s.out.Write(s.pending)
	s.pending = s.pending[:0]
	return err == nil && s.control.Flush() == nil
}
