package xds

import (
	"sync"
	"time"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

const (
	// sendTimeout is how long a client may take to read a response, and a second more for each sendRate bytes of it.
	sendTimeout = 20 * time.Second
	sendRate    = 128 << 10
)

// deliveries are the responses of a stream that gRPC holds, because they do not fit into the flow-control windows of
// the client. SendMsg does not tell: it returns when a response is queued, whatever its size is.
type deliveries struct {
	mu sync.Mutex
	// pending are how long each of them may take, in order, and since is when the first one began.
	pending []time.Duration
	since   time.Time
}

// begin notes a response of a size that is about to be sent.
func (d *deliveries) begin(size int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) == 0 {
		d.since = time.Now()
	}
	d.pending = append(d.pending, sendTimeout+time.Duration(size)*time.Second/sendRate)
}

// end notes that the first response was written to the connection.
func (d *deliveries) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending = d.pending[1:]; len(d.pending) == 0 {
		d.pending = nil
	}
	d.since = time.Now()
}

// overdue reports whether the client takes too long to read.
func (d *deliveries) overdue() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pending) > 0 && time.Since(d.since) > d.pending[0]
}

// response is a message of a stream on its way to codec.
type response struct {
	message    proto.Message
	deliveries *deliveries
}

// codec encodes Protocol Buffers, and notes when gRPC has written a response to the connection.
type codec struct{ encoding.CodecV2 }

// newCodec returns the codec of a server.
func newCodec() codec { return codec{encoding.GetCodecV2(grpcproto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(message any) (mem.BufferSlice, error) {
	one, ok := message.(*response)
	if !ok {
		return c.CodecV2.Marshal(message)
	}
	encoded, err := c.CodecV2.Marshal(one.message)
	if err != nil || mem.IsBelowBufferPoolingThreshold(encoded.Len()) {
		return encoded, err // gRPC does not tell of small buffers, of which each type has at most one on the way.
	}
	content := encoded[0].ReadOnlyData()
	if len(encoded) > 1 {
		content = encoded.Materialize()
	}
	one.deliveries.begin(len(content))
	return mem.BufferSlice{mem.NewBuffer(&content, returned{one.deliveries, encoded})}, nil
}

// returned is the pool of the buffer of one response. gRPC puts the buffer back when it has written it, or dropped it.
type returned struct {
	deliveries *deliveries
	encoded    mem.BufferSlice // what the buffer was made of
}

// Get implements mem.BufferPool. It is not used.
func (returned) Get(length int) *[]byte {
	content := make([]byte, length)
	return &content
}

// Put implements mem.BufferPool.
func (r returned) Put(*[]byte) {
	r.encoded.Free()
	r.deliveries.end()
}
