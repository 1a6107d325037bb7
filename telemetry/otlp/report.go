package otlp

import (
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"

	"github.com/sluiceproxy/sluice/telemetry"
)

// quiet is how long further failures of a kind are only counted after one has been logged.
const quiet = time.Minute

// Report writes the errors of the OpenTelemetry libraries to the logger, at most one line for each kind and
// minute. Without it they write to the standard error. It is for the whole process, and to be called once,
// before anything is sent.
func Report(logger telemetry.Logger) {
	reporter := NewReporter(logger)
	otel.SetErrorHandler(reporter)
	otel.SetLogger(logr.New(sink{reporter}))
}

// Reporter writes a warning for a failure, and only counts further ones of its kind for a minute. There are
// four kinds: the three signals of Failure, and anything else. It may be used by several goroutines at once.
type Reporter struct {
	logger telemetry.Logger
	mutex  sync.Mutex
	kinds  map[string]*reported
}

// reported is the state of one kind.
type reported struct {
	last time.Time
	more int
}

// NewReporter returns a reporter to the logger.
func NewReporter(logger telemetry.Logger) *Reporter {
	return &Reporter{logger: logger, kinds: map[string]*reported{}}
}

// Handle logs the failure, or counts it. It is an ErrorHandler of OpenTelemetry.
func (r *Reporter) Handle(err error) {
	if err == nil {
		return
	}
	kind := "other"
	if failure, ok := errors.AsType[*Failure](err); ok {
		kind = failure.Signal
		err = failure
	}
	more, silent := r.count(kind)
	if silent {
		return
	}
	r.logger.Warn("OpenTelemetry failed", "signal", kind, "error", plain(err.Error()), "unreported", more)
}

// count counts a failure of the kind. It returns how many were not logged since the last one that was, and
// whether this one is not logged either.
func (r *Reporter) count(kind string) (int, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	state := r.kinds[kind]
	if state == nil {
		state = &reported{}
		r.kinds[kind] = state
	}
	now := time.Now()
	if !state.last.IsZero() && now.Sub(state.last) < quiet {
		state.more++
		return 0, true
	}
	more := state.more
	state.last, state.more = now, 0
	return more, false
}

// sink takes the errors that the libraries log. Their values are not read: they repeat variables of the
// environment, headers among them.
type sink struct{ reporter *Reporter }

func (sink) Init(logr.RuntimeInfo) {}

func (sink) Enabled(int) bool { return false }

func (sink) Info(int, string, ...any) {}

func (s sink) Error(_ error, message string, _ ...any) { s.reporter.Handle(errors.New(message)) }

func (s sink) WithValues(...any) logr.LogSink { return s }

func (s sink) WithName(string) logr.LogSink { return s }
