package tracing

import (
	"encoding/binary"
	"errors"
	"math"
)

// sampler decides by the trace's identity, in the same way as OpenTelemetry's TraceIDRatioBased, so that every
// part of a trace which decides by the same share decides alike.
type sampler struct{ below uint64 }

// newSampler returns a sampler for a share of the traces from 0 to 1.
func newSampler(share float64) (sampler, error) {
	if math.IsNaN(share) || share < 0 || share > 1 {
		return sampler{}, errors.New("is a share from 0 to 1")
	}
	return sampler{below: uint64(share * (1 << 63))}, nil
}

func (s sampler) samples(traceID [16]byte) bool {
	return binary.BigEndian.Uint64(traceID[8:])>>1 < s.below
}
