package xds

import (
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxAbsent and maxAbsentBytes bound the subscribed names that do not exist, over all streams. Names that exist cost
// each stream a reference alone.
const maxAbsent, maxAbsentBytes = 200_000, 32 << 20

// absence counts the subscribed names that do not exist, of all types of all views.
type absence struct{ names, bytes atomic.Int64 }

// add counts a name, or takes it off for -1.
func (a *absence) add(name string, difference int64) {
	a.names.Add(difference)
	a.bytes.Add(difference * int64(len(name)))
}

// check returns the error that ends the stream of a client that has added such a name when there are too many.
func (a *absence) check() error {
	if a.names.Load() > maxAbsent || a.bytes.Load() > maxAbsentBytes {
		return status.Error(codes.ResourceExhausted, "too many names that do not exist, of all clients")
	}
	return nil
}
