package overload

import (
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// Action is what is done under pressure.
type Action uint8

// The actions.
const (
	// EndKeepAlive ends connections of clients with the response to their next request.
	EndKeepAlive Action = iota
	// ShedLow refuses requests of the class low.
	ShedLow
	// ShedDefault refuses requests of the class default.
	ShedDefault
	// ShedHigh refuses requests of the class high.
	ShedHigh
	// StopAccepting accepts few connections.
	StopAccepting
	// ReduceTimeouts closes idle connections of clients sooner.
	ReduceTimeouts
	// ResetLargest ends the requests that hold the most memory.
	ResetLargest

	actionCount = int(ResetLargest) + 1
	classCount  = int(ShedHigh-ShedLow) + 1
)

// String returns the name of the action, which is that of its option.
func (a Action) String() string {
	switch a {
	case EndKeepAlive:
		return "endKeepAlive"
	case ShedLow:
		return "shedLow"
	case ShedDefault:
		return "shedDefault"
	case ShedHigh:
		return "shedHigh"
	case StopAccepting:
		return "stopAccepting"
	case ReduceTimeouts:
		return "reduceTimeouts"
	case ResetLargest:
		return "resetLargest"
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// Shedding returns the actions that refuse requests.
func Shedding() []Action { return []Action{ShedLow, ShedDefault, ShedHigh} }

// shedding returns the action that refuses requests of a class, which is below critical.
func shedding(class dynamic.PriorityClass) Action {
	return ShedLow + Action(class-dynamic.PriorityLow)
}

// step is when an action begins and, for one that refuses requests, when it refuses all of them. Both are pressures
// from 0 to 1; begins is 0 for never.
type step struct{ begins, refusesAll float64 }

// stepsOf returns the steps of all actions.
func stepsOf(config static.OverloadActions) [actionCount]step {
	percent := [actionCount]int{
		EndKeepAlive: config.EndKeepAlive, ReduceTimeouts: config.ReduceTimeouts,
		ShedLow: config.ShedLow, ShedDefault: config.ShedDefault, ShedHigh: config.ShedHigh,
		StopAccepting: config.StopAccepting, ResetLargest: config.ResetLargest,
	}
	var steps [actionCount]step
	for action, percentage := range percent {
		steps[action].begins = float64(percentage) / 100
	}
	next := 1.0
	for action := ShedHigh; action >= ShedLow; action-- {
		steps[action].refusesAll = next
		if begins := steps[action].begins; begins > 0 {
			next = begins
		}
	}
	return steps
}

// share returns the part of the requests that is refused at a pressure, 0 to 1.
func (s step) share(pressure float64) float64 {
	switch {
	case pressure < s.begins:
		return 0
	case pressure >= s.refusesAll:
		return 1
	}
	return (pressure - s.begins) / (s.refusesAll - s.begins)
}
