package accesslog

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/queue"
)

const (
	// recordsAtOnce is how many lines one request to a collector carries.
	recordsAtOnce = 512
	// exportTimeout is how long a collector may take for them, its retries included.
	exportTimeout = 30 * time.Second
	// scope names who made the lines.
	scope = "github.com/sluiceproxy/sluice/telemetry/accesslog"
)

// collector sends lines by OTLP. The fields of a line become attributes, the line itself the body.
type collector struct {
	exporter sdklog.Exporter
	logger   otellog.Logger
	gathered *gathered
	// text and attributes are memory for those of one line.
	text       []byte
	attributes []attribute.KeyValue
}

func newCollector(exporter sdklog.Exporter, from *resource.Resource) *collector {
	g := &gathered{}
	options := []sdklog.LoggerProviderOption{
		sdklog.WithProcessor(g), sdklog.WithAttributeCountLimit(-1), sdklog.WithAllowKeyDuplication(),
	}
	if from != nil {
		options = append(options, sdklog.WithResource(from))
	}
	return &collector{exporter: exporter, logger: sdklog.NewLoggerProvider(options...).Logger(scope), gathered: g}
}

// gathered keeps the records that the provider has completed, for deliver to send them. One goroutine uses it.
type gathered struct{ records []sdklog.Record }

// Enabled reports that every record is wanted.
func (g *gathered) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit keeps a record.
func (g *gathered) OnEmit(_ context.Context, record *sdklog.Record) error {
	g.records = append(g.records, record.Clone())
	return nil
}

// Shutdown does nothing.
func (g *gathered) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing: deliver sends at once.
func (g *gathered) ForceFlush(context.Context) error { return nil }

// deliver sends lines in batches. A batch that a collector does not take is given up, after the retries of the
// exporter.
func (c *collector) deliver(
	ctx context.Context, lines []*queue.Node[line], appendLine lineAppender,
) (lost int, err error) {
	for len(lines) > 0 {
		batch := lines[:min(len(lines), recordsAtOnce)]
		lines = lines[len(batch):]
		c.gathered.records = c.gathered.records[:0]
		for _, node := range batch {
			c.text = appendLine(c.text[:0], &node.Value)
			c.emit(ctx, &node.Value, string(c.text))
		}
		if failure := c.export(ctx); failure != nil {
			lost += telemetry.Unsent(failure, len(batch))
			err = failure
		}
	}
	clear(c.gathered.records)
	return lost, err
}

func (c *collector) export(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	return c.exporter.Export(ctx, c.gathered.records)
}

// emit completes the record of a line.
func (c *collector) emit(ctx context.Context, l *line, text string) {
	object, body, separate := strings.Cut(text, "\n")
	if !separate {
		body = object
	}
	var record otellog.Record
	record.SetTimestamp(l.at)
	record.SetSeverity(otellog.SeverityInfo)
	record.SetSeverityText("info")
	record.SetBody(attribute.StringValue(body))
	c.attributes = appendAttributes(c.attributes[:0], object)
	record.AddAttributes(c.attributes...)
	if l.trace.Valid() {
		ctx = trace.ContextWithSpanContext(ctx, spanContext(l.trace))
	}
	c.logger.Emit(ctx, record)
}

func spanContext(from telemetry.TraceContext) trace.SpanContext {
	config := trace.SpanContextConfig{TraceID: from.TraceID, SpanID: from.SpanID}
	if from.Sampled {
		config.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(config)
}

// reopen has nothing to open.
func (c *collector) reopen() error { return nil }

// close shuts the exporter down.
func (c *collector) close(ctx context.Context) error { return c.exporter.Shutdown(ctx) }

// abandon does nothing: the end of deliver's context ends an export.
func (c *collector) abandon() {}
