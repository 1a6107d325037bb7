package xds

import "time"

// Meter counts what is published; metrics.XDS does. A type is lds, rds, cds or eds. Its methods may be called from any
// goroutine.
type Meter interface {
	// Changed counts resources that were added, changed or removed, over all views.
	Changed(kind string, resources int)
	// Streams counts streams that begin (1) and end (-1).
	Streams(difference int)
	// Sent counts a response and its size in bytes. Cause is request for the answer to a subscription, or push for a
	// change.
	Sent(kind, cause string, bytes int)
	// Acknowledged records the time from the change at its source to the acknowledgement of a client.
	Acknowledged(after time.Duration)
	// Rejected counts a response that a client has not accepted (NACK).
	Rejected(kind string)
	// Expired counts a request that answers an earlier response than the last one.
	Expired(kind string)
	// Overdue counts a stream that ended because the client did not read.
	Overdue()
}

// noMeter counts nothing.
type noMeter struct{}

func (noMeter) Changed(string, int)        {}
func (noMeter) Streams(int)                {}
func (noMeter) Sent(string, string, int)   {}
func (noMeter) Acknowledged(time.Duration) {}
func (noMeter) Rejected(string)            {}
func (noMeter) Expired(string)             {}
func (noMeter) Overdue()                   {}
