// Package log is the log of Sluice: lines for operators, each with the subsystem that wrote it.
//
// In flow lines of every subsystem; out flow lines on standard error or in a file, as text or JSON, and to an
// OpenTelemetry collector. Writing a line never blocks: what the output does not take in time is dropped and counted.
package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/logfile"
)

// closeTimeout is how long Close waits for the output and for the collector.
const closeTimeout = time.Second

// Options are what a log needs beside its configuration.
type Options struct {
	// Output receives the lines where log.filePath is empty.
	Output io.Writer
}

// Log is the log of Sluice, which every subsystem writes with a Logger of its own. Close ends it.
type Log struct {
	logger *logrus.Logger
	levels levels
	// mutex guards subsystems.
	mutex      sync.Mutex
	subsystems map[string]*subsystem
	file       *logfile.File
	writer     *writer
	export     export
}

// New returns the log for the static section log. The error names the option that is wrong.
func New(config static.Log, options Options) (*Log, error) {
	levels, err := newLevels(config)
	if err != nil {
		return nil, err
	}
	formatter, err := newFormatter(config.Format, config.NoColor)
	if err != nil {
		return nil, err
	}
	l := &Log{logger: logrus.New(), levels: levels, subsystems: newSubsystems(levels)}
	output := options.Output
	if config.FilePath != "" {
		if l.file, err = logfile.Open(logfile.Options{
			Path: config.FilePath, MaxSize: config.MaxSize, MaxAge: config.MaxAge, MaxBackups: config.MaxBackups,
			Compress: config.Compress,
		}); err != nil {
			return nil, fmt.Errorf("log.filePath: %w", err)
		}
		output = l.file
	}
	l.logger.SetFormatter(formatter)
	l.logger.SetOutput(output) // The formatter checks for a terminal.
	l.writer = newWriter(output, l.lost)
	return l, nil
}

// For returns the logger of a subsystem.
func (l *Log) For(subsystem string) telemetry.Logger {
	return &logger{log: l, name: subsystem, subsystem: l.subsystem(subsystem)}
}

// Audit returns a logger of a subsystem whose lines are written whatever its level is: those that say who has changed
// the process.
func (l *Log) Audit(subsystem string) telemetry.Logger {
	return &logger{log: l, name: subsystem, subsystem: l.subsystem(subsystem), audits: true}
}

// Export sends every line to an OpenTelemetry collector too, until Close. It is called at most once, and the
// exporter is shut down by Close.
func (l *Log) Export(exporter sdklog.Exporter, describes *resource.Resource) {
	l.export.start(exporter, describes, l.For(SubsystemTelemetry))
}

// Reopen opens the file of the log anew, after it was renamed for rotation. Without a file it does nothing. If
// the file cannot be opened, the log goes on in the old one.
func (l *Log) Reopen() error {
	if l.file == nil {
		return nil
	}
	return l.file.Reopen()
}

// Rotate switches the rotation of the file by its size and age off, and on again, where it is configured. While it is
// off, another process rotates the file, and lines go to the file that has the name.
func (l *Log) Rotate(on bool) error {
	if l.file == nil {
		return nil
	}
	return l.file.Rotate(on)
}

// Dropped returns how many lines were not written because the output was too slow or failed.
func (l *Log) Dropped() uint64 { return l.writer.dropped.Load() }

// Unsent returns how many lines did not get to the collector.
func (l *Log) Unsent() uint64 { return l.export.unsent.Load() }

// Close writes and sends what is there, for at most a second each, and closes the file. What is logged later is
// dropped.
func (l *Log) Close() error {
	l.stopTimers()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := l.export.stop(ctx)
	if !l.writer.close(closeTimeout) || l.file == nil {
		return err // The file is still in use by a blocked write.
	}
	return errors.Join(err, l.file.Close())
}

// lost returns the line that reports how many lines were dropped.
func (l *Log) lost(count uint64) []byte {
	return l.format(&logrus.Entry{
		Logger: l.logger, Time: time.Now(), Level: logrus.WarnLevel,
		Message: "lines of the log were dropped: it could not be written",
		Data:    logrus.Fields{subsystemField: SubsystemTelemetry, "count": count},
	})
}

// format returns the line of an entry.
func (l *Log) format(entry *logrus.Entry) []byte {
	line, err := l.logger.Formatter.Format(entry)
	if err != nil {
		return nil // Values are plain, which every formatter can write.
	}
	return line
}

// newFormatter returns the form of a line.
func newFormatter(format string, noColor bool) (logrus.Formatter, error) {
	switch format {
	case "", static.FormatCommon:
		return &logrus.TextFormatter{FullTimestamp: true, DisableColors: noColor, TimestampFormat: time.RFC3339Nano}, nil
	case static.FormatJSON:
		return &logrus.JSONFormatter{TimestampFormat: time.RFC3339Nano}, nil
	}
	return nil, fmt.Errorf("log.format %q: not one of %s, %s", format, static.FormatCommon, static.FormatJSON)
}
