package log

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/sluiceproxy/sluice/telemetry"
)

// export sends lines to a collector. The zero value sends nothing.
type export struct {
	unsent  atomic.Uint64
	sending atomic.Pointer[sending]
}

// sending is an export in progress.
type sending struct {
	provider *sdklog.LoggerProvider
	logger   log.Logger
}

// start begins to send. Failures are written to the logger.
func (e *export) start(exporter sdklog.Exporter, describes *resource.Resource, logger telemetry.Logger) {
	failed := func(err error) {
		logger.Warn("lines of the log do not get to the collector", "error", err, "unsent", e.unsent.Load())
	}
	options := []sdklog.LoggerProviderOption{sdklog.WithProcessor(newBatches(exporter, &e.unsent, failed))}
	if describes != nil {
		options = append(options, sdklog.WithResource(describes))
	}
	provider := sdklog.NewLoggerProvider(options...)
	e.sending.Store(&sending{provider: provider, logger: provider.Logger("github.com/sluiceproxy/sluice")})
}

// stop sends what is queued, and ends.
func (e *export) stop(ctx context.Context) error {
	sending := e.sending.Swap(nil)
	if sending == nil {
		return nil
	}
	if err := sending.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("log.otlp: %w", err)
	}
	return nil
}

// add sends an entry.
func (e *export) add(entry *logrus.Entry) {
	sending := e.sending.Load()
	if sending == nil {
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
	sending.logger.Emit(context.Background(), record)
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
	case uint64:
		if v <= math.MaxInt64 {
			return attribute.Int64Value(int64(v))
		}
	case float64:
		return attribute.Float64Value(v)
	}
	return attribute.StringValue(fmt.Sprint(value))
}
