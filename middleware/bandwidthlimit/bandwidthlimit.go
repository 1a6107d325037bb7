// Package bandwidthlimit implements the middleware bandwidthLimit, which limits how fast the body of each response is
// sent, as limit_rate of nginx. Every response has a rate of its own; upgraded connections are not limited.
package bandwidthlimit

import (
	"fmt"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// slices is how many times in a second a body goes on, and longestSlice bounds what is sent at once, in bytes.
	slices       = 10
	longestSlice = 64 << 10
)

// BandwidthLimit is one configured bandwidthLimit.
type BandwidthLimit struct {
	// rate is in bytes a second, after in bytes.
	rate, after int64
	// slice is what a body waits for when its rate is used up, in bytes.
	slice int64
}

// New checks the definition: bytesPerSecond must be at least 1, and after must not be negative. The error names the
// option.
func New(_ string, config dynamic.BandwidthLimit) (*BandwidthLimit, error) {
	switch {
	case config.BytesPerSecond < 1:
		return nil, fmt.Errorf("bandwidthLimit.bytesPerSecond is %d, and must be at least 1: nothing would be sent",
			config.BytesPerSecond)
	case config.After < 0:
		return nil, fmt.Errorf("bandwidthLimit.after %d is negative", config.After)
	}
	return &BandwidthLimit{
		rate: config.BytesPerSecond, after: config.After,
		slice: min(max(config.BytesPerSecond/slices, 1), longestSlice),
	}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*BandwidthLimit) NoRetain() {}

// Wrap returns a handler that calls next with a writer that limits the body: since the request has arrived, it is given
// after bytes, those of one second, and those of the time that has passed.
func (b *BandwidthLimit) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(&writer{ResponseWriter: w, limit: b, context: r.Context(), start: time.Now()}, r)
	})
}

// given returns how many bytes a response may have sent after a time.
func (b *BandwidthLimit) given(elapsed time.Duration) int64 {
	const most = 1 << 62
	bytes := float64(b.after) + float64(b.rate)*(1+elapsed.Seconds())
	if bytes >= most {
		return most
	}
	return int64(bytes)
}

// wait returns how long it takes until a response may have sent so many bytes.
func (b *BandwidthLimit) wait(bytes int64, elapsed time.Duration) time.Duration {
	seconds := (float64(bytes)-float64(b.after))/float64(b.rate) - 1 - elapsed.Seconds()
	return max(time.Duration(seconds*float64(time.Second)), time.Millisecond)
}
