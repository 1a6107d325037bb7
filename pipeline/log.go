package pipeline

import (
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// LogSink is a VerdictSink that writes a line for each verdict.
type LogSink struct {
	Logger telemetry.Logger
}

// Publish writes errors for quarantined and retained objects, warnings for degraded ones, and a line for each recovery.
// What repeats the verdict on another object is left out (dynamic.Distinct).
func (s LogSink) Publish(verdicts []dynamic.Verdict) {
	for _, verdict := range dynamic.Distinct(verdicts) {
		fields := []any{"kind", string(verdict.Ref.Kind), "name", verdict.Ref.Name}
		if origin := verdict.Origin.String(); origin != "" {
			fields = append(fields, "origin", origin)
		}
		if verdict.Reason != "" {
			fields = append(fields, "reason", verdict.Reason)
		}
		switch verdict.Status {
		case dynamic.Quarantined:
			s.Logger.Error("object disabled", fields...)
		case dynamic.Retained:
			s.Logger.Error("invalid definition refused, the last valid one stays in use", fields...)
		case dynamic.Degraded:
			s.Logger.Warn("object degraded", fields...)
		case dynamic.Accepted:
			s.Logger.Info("object has recovered or is gone", fields...)
		}
	}
}
