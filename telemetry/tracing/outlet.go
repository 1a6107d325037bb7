package tracing

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
	"github.com/sluiceproxy/sluice/telemetry/queue"
)

const (
	// capacity is how many spans may wait, those that are being sent included, and longestQueue how many bytes of those that are not.
	capacity     = 2048
	longestQueue = 8 << 20
	// batchSize and longestBatch bound the spans that are sent at once, the latter in bytes: collectors take 4 MiB by default. A single
	// span may be longer. When one of them is reached nothing more is waited for.
	batchSize    = 512
	longestBatch = 1 << 20
	// interval is how long spans wait for others at most, and timeout how long sending them may take, retries included.
	interval, timeout = 5 * time.Second, 30 * time.Second
)

// outlet is the way of ended spans to the exporter. It never blocks who ends a span, and wakes nobody for a single one.
type outlet struct {
	exporter Exporter
	origin   origin
	reporter *otlp.Reporter
	queue    *queue.Queue[message]
	waiting  atomic.Int64
	dropped  atomic.Uint64
	// enough receives when a batch is waiting.
	enough chan struct{}

	closing sync.Once
	closed  chan struct{}
	// stopped is over when nobody waits for the rest any more.
	stopped context.Context //nolint:containedctx // It is that of the goroutine, which has no caller.
	stop    context.CancelFunc
	// over says that nobody sends any more.
	over atomic.Bool
	done chan struct{}
	// spans is memory for those of one batch; it belongs to the goroutine, as failure does until done.
	spans   message
	failure error
}

func newOutlet(exporter Exporter, origin origin, reporter *otlp.Reporter) *outlet {
	out := &outlet{
		exporter: exporter, origin: origin, reporter: reporter,
		queue:  queue.New[message](queue.Limits{Nodes: capacity, Bytes: longestQueue, Full: longestBatch}),
		enough: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{}),
	}
	out.stopped, out.stop = context.WithCancel(context.Background())
	go out.run()
	return out
}

// leave queues a span, or drops it where too much waits.
func (o *outlet) leave(span *queue.Node[message]) {
	waiting := o.waiting.Add(1)
	if waiting <= capacity && !o.over.Load() && o.queue.Push(span, cap(span.Value)) {
		if waiting%batchSize == 0 {
			select {
			case o.enough <- struct{}{}:
			default:
			}
		}
		return
	}
	o.waiting.Add(-1)
	o.dropped.Add(1)
	o.recycle(span)
}

func (o *outlet) recycle(span *queue.Node[message]) {
	if cap(span.Value) > longestKept {
		span.Value = nil
	}
	o.queue.Recycle(span)
}

// run sends until the end, and then what is left.
func (o *outlet) run() {
	defer close(o.done)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var waiting []*queue.Node[message]
	for last := false; !last; {
		select {
		case <-ticker.C:
		case <-o.enough:
		case <-o.queue.Full():
		case <-o.closed:
			o.over.Store(true)
			last = true
		}
		waiting = o.queue.Drain(waiting[:0])
		for rest := waiting; len(rest) > 0; {
			batch := next(rest)
			o.send(batch)
			rest = rest[len(batch):]
		}
		clear(waiting)
	}
	o.failure = o.exporter.Stop(context.WithoutCancel(o.stopped)) // The end may be late, and connections are to be closed all the same.
	o.dropped.Add(uint64(len(o.queue.Drain(nil))))                // They ended while the last ones were sent.
}

// next returns the first spans of those that wait: as many as are sent at once.
func next(waiting []*queue.Node[message]) []*queue.Node[message] {
	length := 0
	for i, span := range waiting {
		if length += len(span.Value); i == batchSize || (i > 0 && length > longestBatch) {
			return waiting[:i]
		}
	}
	return waiting
}

// send sends a batch.
func (o *outlet) send(batch []*queue.Node[message]) {
	o.spans = o.spans[:0]
	for _, span := range batch {
		o.spans = protowire.AppendBytes(protowire.AppendTag(o.spans, scopeSpan, protowire.BytesType), span.Value)
		o.recycle(span)
	}
	defer o.waiting.Add(-int64(len(batch)))
	if o.stopped.Err() != nil {
		o.dropped.Add(uint64(len(batch)))
		return
	}
	ctx, cancel := context.WithTimeout(o.stopped, timeout)
	defer cancel()
	if err := o.exporter.UploadTraces(ctx, o.origin.with(o.spans)); err != nil {
		o.dropped.Add(uint64(telemetry.Unsent(err, len(batch)))) //nolint:gosec // It is a part of the batch.
		o.reporter.Handle(err)
	}
	if cap(o.spans) > 2*longestBatch {
		o.spans = nil
	}
}

// shutdown ends with the context at the latest: a batch that is being sent then is given up.
func (o *outlet) shutdown(ctx context.Context) error {
	o.closing.Do(func() { close(o.closed) })
	defer o.stop()
	select {
	case <-o.done:
		return o.failure
	case <-ctx.Done():
		return ctx.Err()
	}
}
