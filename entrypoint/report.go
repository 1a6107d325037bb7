package entrypoint

import (
	"context"
	"time"
)

// reportQueue is how many reports may wait for the log; what comes on top is dropped.
const reportQueue = 64

type level uint8

const (
	detail level = iota
	warning
	failure
)

// report is a message to the operator that must not make a client wait.
type report struct {
	level level
	text  string
	err   error
	pause time.Duration
	// panic and stack are set for panics, request for those of handlers and client for others.
	request string
	client  string
	panic   any
	stack   string
	// refusal says why a connection was refused; only client is set beside it.
	refusal refusalReason
}

// report hands a report to the log without waiting.
func (e *Entrypoint) report(r report) {
	select {
	case e.reports <- r:
	default:
	}
}

// writeReports logs reports until ctx ends. A text that repeats is logged once a second, so that a flood of connections
// does not become a flood of lines; refused connections are logged once a minute.
func (e *Entrypoint) writeReports(ctx context.Context) {
	last := map[string]time.Time{}
	refused := newRefusalLog(e)
	defer refused.timer.Stop()
	for {
		select {
		case r := <-e.reports:
			if r.refusal != admitted {
				refused.note(r.refusal, r.client)
				continue
			}
			now := time.Now()
			if r.level == warning && now.Sub(last[r.text]) < time.Second {
				continue
			}
			if r.level == warning {
				last[r.text] = now
			}
			e.writeReport(r)
		case <-refused.timer.C:
			refused.write(false)
		case <-ctx.Done():
			refused.write(true)
			return
		}
	}
}

func (e *Entrypoint) writeReport(r report) {
	fields := []any{"entrypoint", e.name}
	if r.err != nil {
		fields = append(fields, "error", r.err)
	}
	if r.pause > 0 {
		fields = append(fields, "retry", r.pause)
	}
	if r.request != "" {
		fields = append(fields, "request", r.request)
	}
	if r.client != "" {
		fields = append(fields, "client", r.client)
	}
	if r.panic != nil {
		fields = append(fields, "panic", r.panic, "stack", r.stack)
	}
	switch r.level {
	case detail:
		e.deps.Logger.Debug(r.text, fields...)
	case warning:
		e.deps.Logger.Warn(r.text, fields...)
	case failure:
		e.deps.Logger.Error(r.text, fields...)
	}
}
