package dnsprovider

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-acme/lego/v5/challenge/dns01"
	"github.com/go-acme/lego/v5/log"

	"github.com/sluiceproxy/sluice/redact"
	"github.com/sluiceproxy/sluice/telemetry"
)

// SetLogger makes all providers write to a log; without it lego writes to the standard output. It counts for the whole
// process, and is meant to be called once, before the first call of New. What lego tells as information is about the
// steps of one challenge, and is written for debugging. Queries of URLs, in which some providers have credentials, are
// replaced.
func SetLogger(logger telemetry.Logger) { log.SetDefault(slog.New(handler{logger: logger})) }

// SetResolvers sets the recursive name servers, addresses with ports, by which all providers find their zones and
// follow CNAMEs. It counts for the whole process as SetLogger does. Without it they are those of the system.
func SetResolvers(servers []string) {
	options := dns01.NewOptions()
	options.RecursiveNameservers = servers
	dns01.SetDefaultClient(dns01.NewClient(options))
}

// handler passes records of log/slog on to a logger.
type handler struct {
	logger telemetry.Logger
	with   []any
	group  string
}

// Enabled leaves the choice to the logger.
func (h handler) Enabled(context.Context, slog.Level) bool { return true }

// Handle passes one record on.
func (h handler) Handle(_ context.Context, record slog.Record) error {
	pairs := append([]any{}, h.with...)
	record.Attrs(func(one slog.Attr) bool {
		pairs = append(pairs, h.pair(one)...)
		return true
	})
	message := redact.Queries(record.Message)
	switch {
	case record.Level >= slog.LevelError:
		h.logger.Error(message, pairs...)
	case record.Level >= slog.LevelWarn:
		h.logger.Warn(message, pairs...)
	default:
		h.logger.Debug(message, pairs...)
	}
	return nil
}

// WithAttrs returns a handler that adds attributes to each record.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := append([]any{}, h.with...)
	for _, one := range attrs {
		with = append(with, h.pair(one)...)
	}
	return handler{logger: h.logger, with: with, group: h.group}
}

// WithGroup returns a handler that puts a name before those of the attributes.
func (h handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return handler{logger: h.logger, with: h.with, group: h.group + name + "."}
}

// pair is an attribute as the logger takes it: times and errors as text.
func (h handler) pair(one slog.Attr) []any {
	var value any
	switch resolved := one.Value.Resolve().Any().(type) {
	case error:
		value = redact.Queries(resolved.Error())
	case string:
		value = redact.Queries(resolved)
	case time.Duration:
		value = resolved.String()
	default:
		value = resolved
	}
	return []any{h.group + one.Key, value}
}
