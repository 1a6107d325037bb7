package telemetry

// RequestReader is told what is counted for each request. Slices that it is given are written to again when it returns.
type RequestReader interface {
	// Level begins with entrypoints, routers or services.
	Level(families RequestFamilies)
	// Cell tells what has been counted of requests with the same labels.
	Cell(counts *RequestCounts)
	// Secure tells how many came over the same kind of TLS.
	Secure(labels []Label, count uint64)
}

// RequestFamilies names the families of a level.
type RequestFamilies struct{ Requests, Secure, Durations, Received, Sent Family }

// Family is the name of a family of metrics, and what it means.
type Family struct{ Name, Help string }

// Label is a label and its value, which is UTF-8.
type Label struct{ Name, Value string }

// RequestCounts is what has been counted of requests with the same labels.
type RequestCounts struct {
	// Labels are by name, Durations says how long they took, and Received and Sent are the bytes of bodies.
	Labels    []Label
	Durations Durations
	Received  uint64
	Sent      uint64
	// Parts are what the requests are told apart by beyond that: the labels of headers. Without such there is one part.
	Parts []RequestPart
}

// RequestPart is how many requests have some more labels.
type RequestPart struct {
	More  []Label
	Count uint64
}

// Durations is a histogram.
type Durations struct {
	Count   uint64
	Seconds float64
	// Below says for each bound how many took at most as long.
	Below []uint64
	// Scale, Zero, ZeroBelow and Buckets are a histogram with buckets that grow: 2^Scale of them to an octave. Zero counts what is at most
	// ZeroBelow seconds.
	Scale     int
	Zero      uint64
	ZeroBelow float64
	Buckets   []DurationBucket
}

// DurationBucket counts what is above 2^(Index/2^Scale) seconds, up to the next power.
type DurationBucket struct {
	Index int
	Count uint64
}
