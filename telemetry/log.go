package telemetry

import (
	"fmt"
	"io"

	"github.com/sirupsen/logrus"
)

// LogOptions are the options of a logger (static section log).
type LogOptions struct {
	// Level is DEBUG, INFO, WARN or ERROR in any case; empty means INFO.
	Level string
	// Format is common (default) or json.
	Format string
	// NoColor leaves out colours, which are used only when Output is a terminal.
	NoColor bool
	// Output receives the lines.
	Output io.Writer
}

// NewLogger returns a logger on logrus. The error names the option that is wrong.
func NewLogger(options LogOptions) (Logger, error) {
	logger := logrus.New()
	logger.SetOutput(options.Output)
	level := options.Level
	if level == "" {
		level = "info"
	}
	parsed, err := logrus.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("log.level %q: not one of DEBUG, INFO, WARN, ERROR, FATAL, PANIC, TRACE", options.Level)
	}
	logger.SetLevel(parsed)
	switch options.Format {
	case "", "common":
		logger.SetFormatter(&logrus.TextFormatter{FullTimestamp: true, DisableColors: options.NoColor})
	case "json":
		logger.SetFormatter(&logrus.JSONFormatter{})
	default:
		return nil, fmt.Errorf("log.format %q: not one of common, json", options.Format)
	}
	return lines{entry: logrus.NewEntry(logger)}, nil
}

type lines struct{ entry *logrus.Entry }

func (l lines) with(keysAndValues []any) *logrus.Entry {
	if len(keysAndValues) == 0 {
		return l.entry
	}
	fields := make(logrus.Fields, len(keysAndValues)/2)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		fields[fmt.Sprint(keysAndValues[i])] = keysAndValues[i+1]
	}
	return l.entry.WithFields(fields)
}

// Debug writes a line at level debug.
func (l lines) Debug(message string, keysAndValues ...any) { l.with(keysAndValues).Debug(message) }

// Info writes a line at level info.
func (l lines) Info(message string, keysAndValues ...any) { l.with(keysAndValues).Info(message) }

// Warn writes a line at level warning.
func (l lines) Warn(message string, keysAndValues ...any) { l.with(keysAndValues).Warn(message) }

// Error writes a line at level error.
func (l lines) Error(message string, keysAndValues ...any) { l.with(keysAndValues).Error(message) }

// Discard is a logger that writes nothing.
type Discard struct{}

// Debug writes nothing.
func (Discard) Debug(string, ...any) {}

// Info writes nothing.
func (Discard) Info(string, ...any) {}

// Warn writes nothing.
func (Discard) Warn(string, ...any) {}

// Error writes nothing.
func (Discard) Error(string, ...any) {}
