package pipeline

import "time"

const (
	// quietBeforeApply is how long a burst of changes must have been quiet before it is applied.
	quietBeforeApply = 100 * time.Millisecond
	// DefaultMaxHold is how long a burst of changes is held at most before it is applied.
	DefaultMaxHold = 500 * time.Millisecond
	// pausePerCost is how many times as long as an application the pause after it is for changes of providers that are
	// paced, so that a stream of them takes a third of a core. The pause is at most quietBeforeApply: where an application
	// takes longer than half of that, such a stream takes more.
	pausePerCost = 2
)

// debounce decides when changes are applied: the first one in a quiet system at once, a burst when it has been quiet
// for a while or has been held for the ceiling.
type debounce struct {
	quiet   time.Duration
	ceiling time.Duration

	pending bool
	at      time.Time // when to apply; counts while pending
	by      time.Time // when to apply at the latest, for a paced provider; zero for others
	first   time.Time // when the pending burst began
	last    time.Time // when anything happened last: a change or an application

	ended time.Time     // when the last application ended
	took  time.Duration // how long it took
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

// pace has what has been noted applied once the pause after the last application is over.
func (d *debounce) pace(now time.Time) {
	over := d.ended.Add(min(pausePerCost*d.took, d.quiet))
	if over.Before(now) {
		over = now
	}
	d.by = earliest(d.by, over)
}

// measured takes when an application began and ended.
func (d *debounce) measured(began, ended time.Time) {
	d.ended, d.took, d.last = ended, ended.Sub(began), ended
}

// due returns when to apply what has been noted; zero when there is nothing.
func (d *debounce) due() time.Time {
	if !d.pending {
		return time.Time{}
	}
	return earliest(d.at, d.by)
}

// applied says that everything noted has been applied.
func (d *debounce) applied(now time.Time) { d.pending, d.last, d.by = false, now, time.Time{} }

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
