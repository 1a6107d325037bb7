package telemetry

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

const (
	// logBatch is how many lines are sent at once, logBacklog how many may wait for that.
	logBatch   = 256
	logBacklog = 2048
	// logBatchWait is how long a line waits for others to be sent with.
	logBatchWait = time.Second
)

// logExport sends lines to a collector. The zero value sends nothing.
type logExport struct {
	unsent   atomic.Uint64
	provider atomic.Pointer[sdklog.LoggerProvider]
}

// start sends from now on.
func (e *logExport) start(exporter sdklog.Exporter, describes *resource.Resource) {
	options := []sdklog.LoggerProviderOption{sdklog.WithProcessor(newLogBatches(exporter, &e.unsent))}
	if describes != nil {
		options = append(options, sdklog.WithResource(describes))
	}
	e.provider.Store(sdklog.NewLoggerProvider(options...))
}

// stop sends what is queued, and ends.
func (e *logExport) stop(ctx context.Context) error {
	provider := e.provider.Swap(nil)
	if provider == nil {
		return nil
	}
	if err := provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("log.otlp: %w", err)
	}
	return nil
}

// add sends an entry.
func (e *logExport) add(entry *logrus.Entry) {
	provider := e.provider.Load()
	if provider == nil {
		return
	}
	var record log.Record
	record.SetTimestamp(entry.Time)
	record.SetObservedTimestamp(entry.Time)
	record.SetBody(attribute.StringValue(entry.Message))
	record.SetSeverity(severity(entry.Level))
	record.SetSeverityText(entry.Level.String())
	for key, value := range entry.Data {
		record.AddAttributes(attribute.KeyValue{Key: attribute.Key(key), Value: attributeValue(value)})
	}
	provider.Logger("github.com/sluiceproxy/sluice").Emit(context.Background(), record)
}

func severity(level logrus.Level) log.Severity {
	switch level {
	case logrus.DebugLevel:
		return log.SeverityDebug
	case logrus.InfoLevel:
		return log.SeverityInfo
	case logrus.WarnLevel:
		return log.SeverityWarn
	}
	return log.SeverityError
}

// attributeValue returns a plain value as an attribute.
func attributeValue(value any) attribute.Value {
	switch v := value.(type) {
	case string:
		return attribute.StringValue(v)
	case bool:
		return attribute.BoolValue(v)
	case int:
		return attribute.IntValue(v)
	case int64:
		return attribute.Int64Value(v)
	case float64:
		return attribute.Float64Value(v)
	}
	return attribute.StringValue(fmt.Sprint(value))
}

// logBatches is a processor that never waits and counts what it could not send.
type logBatches struct {
	exporter sdklog.Exporter
	unsent   *atomic.Uint64
	queue    chan sdklog.Record
	once     sync.Once
	stopping chan struct{}
	done     chan struct{}
}

func newLogBatches(exporter sdklog.Exporter, unsent *atomic.Uint64) *logBatches {
	b := &logBatches{
		exporter: exporter, unsent: unsent, queue: make(chan sdklog.Record, logBacklog), stopping: make(chan struct{}), done: make(chan struct{}),
	}
	go b.run()
	return b
}

// Enabled says yes: what is not wanted does not come here.
func (b *logBatches) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit queues a record, or drops and counts it.
func (b *logBatches) OnEmit(_ context.Context, record *sdklog.Record) error {
	select {
	case b.queue <- record.Clone():
	default:
		b.unsent.Add(1)
	}
	return nil
}

// ForceFlush does nothing: nobody needs a part of the log sooner than a second later.
func (b *logBatches) ForceFlush(context.Context) error { return nil }

// Shutdown sends what is queued, until ctx ends.
func (b *logBatches) Shutdown(ctx context.Context) error {
	b.once.Do(func() { close(b.stopping) })
	select {
	case <-b.done:
	case <-ctx.Done():
	}
	return b.exporter.Shutdown(ctx)
}

// run sends until Shutdown, and then what is left.
func (b *logBatches) run() {
	defer close(b.done)
	ticker := time.NewTicker(logBatchWait)
	defer ticker.Stop()
	var batch []sdklog.Record
	for {
		select {
		case record := <-b.queue:
			if batch = append(batch, record); len(batch) >= logBatch {
				batch = b.send(batch)
			}
		case <-ticker.C:
			batch = b.send(batch)
		case <-b.stopping:
			for len(b.queue) > 0 {
				batch = append(batch, <-b.queue)
			}
			b.send(batch)
			return
		}
	}
}

// send sends a batch, and returns the room for the next.
func (b *logBatches) send(batch []sdklog.Record) []sdklog.Record {
	if len(batch) == 0 {
		return batch
	}
	if err := b.exporter.Export(context.Background(), batch); err != nil {
		b.unsent.Add(uint64(len(batch)))
	}
	clear(batch)
	return batch[:0]
}
