package authorize

import "context"

// MaxInFlight is how many requests a middleware has in flight to its server at most; further ones wait.
const MaxInFlight = 512

// Slots bounds the requests that are in flight to a server. It has an element for each of them.
type Slots chan struct{}

// NewSlots returns slots for MaxInFlight requests.
func NewSlots() Slots { return make(Slots, MaxInFlight) }

// Acquire waits until fewer than MaxInFlight requests are in flight. Its error is the cause of the end of the context.
func (s Slots) Acquire(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Release ends what Acquire began.
func (s Slots) Release() { <-s }
