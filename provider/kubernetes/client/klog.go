package client

import (
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/sluiceproxy/sluice/telemetry"
)

// LogThrough has everything that client-go logs written by the logger. Call it once, before the first Connect: the
// destination belongs to klog, which has one for the whole process and does not guard it against use at the same time.
// That is why no Cluster does it by itself.
func LogThrough(logger telemetry.Logger) {
	klog.SetLogger(logr.New(lines{logger: logger}))
}

// quiet returns a logger for reflectors at debug level. The informers log the same for operators, in fewer words.
func quiet(logger telemetry.Logger) klog.Logger {
	return logr.New(lines{logger: logger, quiet: true})
}

// lines writes what client-go logs.
type lines struct {
	logger telemetry.Logger
	quiet  bool
	name   string
	values []any
}

// Init does nothing.
func (lines) Init(logr.RuntimeInfo) {}

// Enabled reports whether a level of verbosity is written: only the lowest is.
func (lines) Enabled(level int) bool { return level <= 0 }

// Info writes a line.
func (l lines) Info(_ int, message string, keysAndValues ...any) {
	if l.quiet {
		l.logger.Debug(message, l.with(keysAndValues)...)
		return
	}
	l.logger.Info(message, l.with(keysAndValues)...)
}

// Error writes a line about an error that is handled.
func (l lines) Error(err error, message string, keysAndValues ...any) {
	if err != nil {
		keysAndValues = append(keysAndValues, "error", err)
	}
	l.logger.Warn(message, l.with(keysAndValues)...)
}

// WithValues returns a sink that adds keys and values to every line.
func (l lines) WithValues(keysAndValues ...any) logr.LogSink {
	l.values = l.with(keysAndValues)
	return l
}

// WithName returns a sink that names where its lines come from.
func (l lines) WithName(name string) logr.LogSink {
	if l.name != "" {
		name = l.name + "." + name
	}
	l.name = name
	return l
}

func (l lines) with(keysAndValues []any) []any {
	all := make([]any, 0, len(l.values)+len(keysAndValues)+2)
	all = append(all, l.values...)
	all = append(all, keysAndValues...)
	if l.name != "" {
		all = append(all, "from", l.name)
	}
	return all
}
