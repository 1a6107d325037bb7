package compress

import (
	"errors"
	"io"
	"sync/atomic"
)

const (
	// mostRoom and leastRoom bound the total memory of active encoders of one middleware in bytes. roomShare is their part
	// of the memory limit, if there is one.
	mostRoom  = 1 << 30
	leastRoom = 16 << 20
	roomShare = 4
)

// errCrowded is the error when this memory is used up.
var errCrowded = errors.New("compress: the encoders of other responses take all memory that they may")

// room is the memory left for encoders. Slow clients and event streams hold an encoder for a long time.
type room struct{ left atomic.Int64 }

// roomBytes returns the initial room for a memory limit.
func roomBytes(limit int64) int64 { return max(min(mostRoom, limit/roomShare), leastRoom) }

// begin returns a stream for a response, if there is room for its encoder; end takes it back.
func (c *Compress) begin(coding *coding, to io.Writer) (*stream, error) {
	cost := costOf(coding.kind)
	if c.room.left.Add(-cost) < 0 {
		c.room.left.Add(cost)
		c.counts.crowded.Add(1)
		return nil, errCrowded
	}
	s, err := coding.begin(to)
	if err != nil {
		c.room.left.Add(cost)
	}
	return s, err
}

// end takes a stream back.
func (c *Compress) end(coding *coding, s *stream) {
	coding.end(s)
	c.room.left.Add(costOf(coding.kind))
}

// costOf returns the maximum memory of an encoder in bytes.
func costOf(kind int) int64 {
	switch kind {
	case brotliKind:
		return 4900 << 10
	case zstdKind:
		return 2200 << 10
	}
	return 1200 << 10
}
