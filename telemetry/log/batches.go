package log

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// batchLines is how many lines are sent at once, batchBacklog how many may wait for that.
	batchLines   = 256
	batchBacklog = 2048
	// batchWait is how long a line waits for others to be sent with.
	batchWait = time.Second
	// batchQuiet is the minimum time between two reports of failures to send.
	batchQuiet = time.Minute
)

// batches is a log processor that does not block and counts the lines that it could not send.
type batches struct {
	exporter sdklog.Exporter
	unsent   *atomic.Uint64
	failed   func(err error)
	queue    chan sdklog.Record
	once     sync.Once
	stopping chan struct{}
	// sending is cancelled when Shutdown ends.
	sending context.Context //nolint:containedctx // It is that of the goroutine, which has no caller.
	giveUp  context.CancelFunc
	done    chan struct{}
	// reported is when a failure was reported last; used only by the goroutine of run.
	reported time.Time
}

// newBatches returns a processor that counts unsent lines and calls failed with the error, at most once a minute.
func newBatches(exporter sdklog.Exporter, unsent *atomic.Uint64, failed func(err error)) *batches {
	b := &batches{
		exporter: exporter, unsent: unsent, failed: failed, queue: make(chan sdklog.Record, batchBacklog),
		stopping: make(chan struct{}), done: make(chan struct{}),
	}
	b.sending, b.giveUp = context.WithCancel(context.Background())
	go b.run()
	return b
}

// Enabled returns true: levels are applied before.
func (b *batches) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit queues a record, or drops and counts it.
func (b *batches) OnEmit(_ context.Context, record *sdklog.Record) error {
	select {
	case b.queue <- record.Clone():
	default:
		b.unsent.Add(1)
	}
	return nil
}

// ForceFlush does nothing: batches are sent every second.
func (b *batches) ForceFlush(context.Context) error { return nil }

// Shutdown sends what is queued, until ctx ends.
func (b *batches) Shutdown(ctx context.Context) error {
	b.once.Do(func() { close(b.stopping) })
	select {
	case <-b.done:
	case <-ctx.Done():
	}
	b.giveUp() // Exporters wait for the end of the batch that they send.
	return b.exporter.Shutdown(ctx)
}

// run sends until Shutdown, and then what is left.
func (b *batches) run() {
	defer close(b.done)
	ticker := time.NewTicker(batchWait)
	defer ticker.Stop()
	var batch []sdklog.Record
	for {
		select {
		case record := <-b.queue:
			if batch = append(batch, record); len(batch) >= batchLines {
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
func (b *batches) send(batch []sdklog.Record) []sdklog.Record {
	if len(batch) == 0 {
		return batch
	}
	if err := b.exporter.Export(b.sending, batch); err != nil {
		b.unsent.Add(uint64(telemetry.Unsent(err, len(batch)))) //nolint:gosec // It is a part of the batch.
		b.report(err)
	}
	clear(batch)
	return batch[:0]
}

// report reports a failure, at most once a minute: the report is itself a line that is sent and may fail.
func (b *batches) report(err error) {
	if now := time.Now(); b.reported.IsZero() || now.Sub(b.reported) >= batchQuiet {
		b.reported = now
		b.failed(err)
	}
}
