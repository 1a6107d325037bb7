package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/logfile"
)

// The subsystems that log, as log.levels and the field subsystem name them. A name includes all below it: provider
// includes provider.docker.
const (
	// SubsystemMain is for start, end, signals and memory.
	SubsystemMain = "main"
	// SubsystemEntrypoint is for listeners and connections.
	SubsystemEntrypoint = "entrypoint"
	// SubsystemRequests is for failed requests, summarized.
	SubsystemRequests = "requests"
	// SubsystemMiddleware is for middlewares.
	SubsystemMiddleware = "middleware"
	// SubsystemLoadBalancer is for endpoints, their health and ejections.
	SubsystemLoadBalancer = "loadbalancer"
	// SubsystemPipeline is for configurations that are put to work, and what is refused.
	SubsystemPipeline = "pipeline"
	// SubsystemProvider is for what providers have in common.
	SubsystemProvider = "provider"
	// SubsystemFile is for the file provider.
	SubsystemFile = "provider.file"
	// SubsystemDocker is for the Docker provider.
	SubsystemDocker = "provider.docker"
	// SubsystemKubernetes is for all Kubernetes providers.
	SubsystemKubernetes = "provider.kubernetes"
	// SubsystemDNS is for the resolution of servers that are given by name.
	SubsystemDNS = "provider.dns"
	// SubsystemAPI is for the API and the dashboard.
	SubsystemAPI = "api"
	// SubsystemTelemetry is for access log, metrics and traces themselves.
	SubsystemTelemetry = "telemetry"
	// SubsystemLibrary is for messages of libraries.
	SubsystemLibrary = "library"
)

// Subsystems returns the names of all subsystems.
func Subsystems() []string {
	return []string{
		SubsystemMain, SubsystemEntrypoint, SubsystemRequests, SubsystemMiddleware,
		SubsystemLoadBalancer, SubsystemPipeline, SubsystemProvider, SubsystemFile, SubsystemDocker, SubsystemKubernetes,
		SubsystemDNS, SubsystemAPI, SubsystemTelemetry, SubsystemLibrary,
	}
}

// patience is how long Close waits for the output and for the collector.
const patience = time.Second

// LogsOptions are what a log needs beside its configuration.
type LogsOptions struct {
	// Output receives the lines where log.filePath is empty.
	Output io.Writer
}

// Logs is the log of Sluice, which every subsystem writes with a Logger of its own. Writing never waits: what
// cannot be written is dropped and counted. Close ends it.
type Logs struct {
	logger *logrus.Logger
	levels logLevels
	file   *logfile.File
	queue  *logQueue
	export logExport
}

// NewLogs returns the log for the static section log. The error names the option that is wrong.
func NewLogs(config static.Log, options LogsOptions) (*Logs, error) {
	levels, err := newLogLevels(config)
	if err != nil {
		return nil, err
	}
	formatter, err := logFormatter(config.Format, config.NoColor)
	if err != nil {
		return nil, err
	}
	l := &Logs{logger: logrus.New(), levels: levels}
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
	l.queue = newLogQueue(output, l.lost)
	return l, nil
}

// For returns the logger of a subsystem.
func (l *Logs) For(subsystem string) Logger {
	return &subsystemLogger{logs: l, name: subsystem, level: l.levels.of(subsystem)}
}

// Export sends every line to an OpenTelemetry collector too, until Close. It is called at most once, and the
// exporter is shut down by Close.
func (l *Logs) Export(exporter sdklog.Exporter, describes *resource.Resource) {
	l.export.start(exporter, describes, l.For(SubsystemTelemetry))
}

// Reopen opens the file of the log anew, after it was renamed for rotation. Without a file it does nothing. If
// the file cannot be opened, the log goes on in the old one.
func (l *Logs) Reopen() error {
	if l.file == nil {
		return nil
	}
	return l.file.Reopen()
}

// Dropped returns how many lines were not written because the output was too slow or failed.
func (l *Logs) Dropped() uint64 { return l.queue.dropped.Load() }

// Unsent returns how many lines did not get to the collector.
func (l *Logs) Unsent() uint64 { return l.export.unsent.Load() }

// Close writes and sends what is there, for at most a second each, and closes the file. What is logged later is
// dropped.
func (l *Logs) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := l.export.stop(ctx)
	if !l.queue.close(patience) || l.file == nil {
		return err // The file is still in use by a blocked write.
	}
	return errors.Join(err, l.file.Close())
}

// lost returns the line that reports how many lines were dropped.
func (l *Logs) lost(count uint64) []byte {
	return l.format(&logrus.Entry{
		Logger: l.logger, Time: time.Now(), Level: logrus.WarnLevel,
		Message: "lines of the log were dropped: it could not be written",
		Data:    logrus.Fields{subsystemField: SubsystemTelemetry, "count": count},
	})
}

// format returns the line of an entry.
func (l *Logs) format(entry *logrus.Entry) []byte {
	line, err := l.logger.Formatter.Format(entry)
	if err != nil {
		return nil // Values are plain, which every formatter can write.
	}
	return line
}

// logFormatter returns the form of a line.
func logFormatter(format string, noColor bool) (logrus.Formatter, error) {
	switch format {
	case "", static.FormatCommon:
		return &logrus.TextFormatter{FullTimestamp: true, DisableColors: noColor, TimestampFormat: time.RFC3339Nano}, nil
	case static.FormatJSON:
		return &logrus.JSONFormatter{TimestampFormat: time.RFC3339Nano}, nil
	}
	return nil, fmt.Errorf("log.format %q: not one of %s, %s", format, static.FormatCommon, static.FormatJSON)
}

// logLevels are the levels of log.level and log.levels.
type logLevels struct {
	all    logrus.Level
	single map[string]logrus.Level
}

// newLogLevels reads log.level and log.levels.
func newLogLevels(config static.Log) (logLevels, error) {
	all, err := logLevel("log.level", config.Level)
	if err != nil {
		return logLevels{}, err
	}
	levels := logLevels{all: all, single: map[string]logrus.Level{}}
	for _, name := range slices.Sorted(maps.Keys(config.Levels)) {
		if !knownSubsystem(name) {
			return logLevels{}, fmt.Errorf("log.levels.%s: no such subsystem; there are %s", name,
				strings.Join(Subsystems(), ", "))
		}
		if levels.single[strings.ToLower(name)], err = logLevel("log.levels."+name, config.Levels[name]); err != nil {
			return logLevels{}, err
		}
	}
	return levels, nil
}

// logLevel reads the level of an option; empty is INFO.
func logLevel(option, level string) (logrus.Level, error) {
	if level == "" {
		return logrus.InfoLevel, nil
	}
	parsed, err := logrus.ParseLevel(level)
	if err != nil {
		return 0, fmt.Errorf("%s %q: not one of DEBUG, INFO, WARN, ERROR, FATAL, PANIC, TRACE", option, level)
	}
	return parsed, nil
}

// knownSubsystem reports whether a subsystem has this name, in any case.
func knownSubsystem(name string) bool { return slices.Contains(Subsystems(), strings.ToLower(name)) }

// of returns the level of a subsystem: its own, else that of the nearest one above it, else that of all.
func (l logLevels) of(subsystem string) logrus.Level {
	for name := strings.ToLower(subsystem); name != ""; {
		if level, ok := l.single[name]; ok {
			return level
		}
		end := strings.LastIndexByte(name, '.')
		name = name[:max(end, 0)]
	}
	return l.all
}
