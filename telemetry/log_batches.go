package telemetry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
)

const (
	// logBatch is how many lines are sent at once, logBacklog how many may wait for that.
	logBatch   = 256
	logBacklog = 2048
	// logBatchWait is how long a line waits for others to be sent with.
	logBatchWait = time.Second
	// logBatchQuiet is how long further failures to send are only counted after one has been told.
	logBatchQuiet = time.Minute
)

// logBatches is a processor that never waits and counts what it could not send.
type logBatches struct {
	exporter sdklog.Exporter
	unsent   *atomic.Uint64
	failed   func(err error)
	queue    chan sdklog.Record
	once     sync.Once
	stopping chan struct{}
	// sending is over when nobody waits for the rest any more.
	sending context.Context //nolint:containedctx // It is that of the goroutine, which has no caller.
	giveUp  context.CancelFunc
	done    chan struct{}
	// told is when a failure was told last; it belongs to the goroutine.
	told time.Time
}

// newLogBatches returns a processor that counts what is not sent, and tells failed why, at most once a minute.
func newLogBatches(exporter sdklog.Exporter, unsent *atomic.Uint64, failed func(err error)) *logBatches {
	b := &logBatches{
		exporter: exporter, unsent: unsent, failed: failed, queue: make(chan sdklog.Record, logBacklog), stopping: make(chan struct{}), done: make(chan struct{}),
	}
	b.sending, b.giveUp = context.WithCancel(context.Background())
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
	b.giveUp() // Exporters wait with their end for that of what they send.
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
	if err := b.exporter.Export(b.sending, batch); err != nil {
		b.unsent.Add(uint64(Unsent(err, len(batch)))) //nolint:gosec // It is a part of the batch.
		b.tell(err)
	}
	clear(batch)
	return batch[:0]
}

// tell tells of a failure. What is told is a line of the log itself, which fails in the same way, so that it must not be told each time.
func (b *logBatches) tell(err error) {
	if now := time.Now(); b.told.IsZero() || now.Sub(b.told) >= logBatchQuiet {
		b.told = now
		b.failed(err)
	}
}
