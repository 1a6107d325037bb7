package telemetry

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// failureQueue is how many failed requests may wait for the log; what comes on top is counted and not written.
const failureQueue = 1024

// Failures writes one line for each request that Sluice itself could not answer as asked (refused or broken endpoints,
// time-outs, clients that left), away from the request's goroutine.
type Failures struct {
	logger  Logger
	queue   chan Record
	dropped atomic.Uint64
}

// NewFailures returns a log of failures; Run writes it.
func NewFailures(logger Logger) *Failures {
	return &Failures{logger: logger, queue: make(chan Record, failureQueue)}
}

// Finished queues a record that carries a reason, and never blocks.
func (f *Failures) Finished(record *Record) {
	if record.Reason == "" {
		return
	}
	select {
	case f.queue <- *record:
	default:
		f.dropped.Add(1)
	}
}

// Dropped returns how many failures were not written because too many came at once.
func (f *Failures) Dropped() uint64 { return f.dropped.Load() }

// Run writes queued failures until ctx ends, and then what is left.
func (f *Failures) Run(ctx context.Context) {
	for {
		select {
		case record := <-f.queue:
			f.write(record)
		case <-ctx.Done():
			f.rest()
			return
		}
	}
}

func (f *Failures) rest() {
	for {
		select {
		case record := <-f.queue:
			f.write(record)
		default:
			return
		}
	}
}

func (f *Failures) write(record Record) {
	log := f.logger.Debug
	if record.Status >= http.StatusInternalServerError {
		log = f.logger.Warn
	} else if record.Status == StatusClientClosedRequest {
		log = f.logger.Info
	}
	log("request failed",
		"status", record.Status, "reason", record.Reason, "method", record.Method, "host", record.Host,
		"path", record.Path, "client", record.Client, "entrypoint", record.Entrypoint, "router", record.Router,
		"service", record.Service, "endpoint", record.Endpoint, "tries", record.Tries,
		"duration", record.Duration.Round(time.Microsecond).String())
}

// StatusClientClosedRequest is recorded when the client left before a response began; it is never sent.
const StatusClientClosedRequest = 499
