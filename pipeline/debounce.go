package pipeline

import "time"

const (
	// quietBeforeApply is how long a burst of changes must have been quiet before it is applied.
	quietBeforeApply = 100 * time.Millisecond
	// DefaultMaxHold is how long a burst of changes is held at most before it is applied.
	DefaultMaxHold = 500 * time.Millisecond
)

// debounce decides when changes are applied: the first one in a quiet system at once, a burst when it has been quiet
// for a while or has been held for the ceiling.
type debounce struct {
	quiet   time.Duration
	ceiling time.Duration

	pending bool
	at      time.Time // when to apply; counts while pending
	first   time.Time // when the pending burst began
	last    time.Time // when anything happened last: a change or an application
}

func newDebounce(ceiling time.Duration) debounce {
	return debounce{quiet: min(quietBeforeApply, ceiling), ceiling: ceiling}
}

// note takes a change.
func (d *debounce) note(now time.Time) {
	calm := d.last.IsZero() || now.Sub(d.last) >= d.quiet
	d.last = now
	switch {
	case d.pending:
		d.at = earliest(now.Add(d.quiet), d.first.Add(d.ceiling))
	case calm:
		d.pending, d.first, d.at = true, now, now
	default:
		d.pending, d.first = true, now
		d.at = earliest(now.Add(d.quiet), now.Add(d.ceiling))
	}
}

// release applies what has been noted at once.
func (d *debounce) release(now time.Time) { d.at = now }

// due returns when to apply what has been noted; zero when there is nothing.
func (d *debounce) due() time.Time {
	if !d.pending {
		return time.Time{}
	}
	return d.at
}

// applied says that everything noted has been applied.
func (d *debounce) applied(now time.Time) { d.pending, d.last = false, now }

// earliest returns the first of the moments that are set; zero when none is.
func earliest(moments ...time.Time) time.Time {
	var first time.Time
	for _, moment := range moments {
		if !moment.IsZero() && (first.IsZero() || moment.Before(first)) {
			first = moment
		}
	}
	return first
}

// reached reports whether a moment that is set has come.
func reached(moment, now time.Time) bool { return !moment.IsZero() && !moment.After(now) }
