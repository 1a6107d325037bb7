package report

import "time"

// alarm is a timer that only ever gets earlier until it rings.
type alarm struct {
	*time.Timer
	at time.Time
}

// newAlarm returns an alarm that is not set.
func newAlarm() *alarm {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &alarm{Timer: timer}
}

// within sets the alarm, unless it rings earlier anyway.
func (a *alarm) within(wait time.Duration) {
	if at := time.Now().Add(wait); a.at.IsZero() || at.Before(a.at) {
		a.at = at
		a.Reset(wait)
	}
}

// rang says that the alarm has rung.
func (a *alarm) rang() { a.at = time.Time{} }
