package overload

import (
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Status is what a Ladder measures and does.
type Status struct {
	// Pressures are those of the monitors, in their order.
	Pressures []Pressure
	// Actions has all actions, in the order of their constants.
	Actions []ActionStatus
	// Shed has the refused requests of all classes below critical, from the least important one.
	Shed []ShedStatus
	// Reset is how many requests ResetLargest has ended.
	Reset uint64
}

// Pressure is that of a monitor.
type Pressure struct {
	// Monitor is its name.
	Monitor string
	// Value is the pressure that counts, from 0 to 1.
	Value float64
}

// ActionStatus is the state of an action.
type ActionStatus struct {
	Action Action
	Active bool
	// Since is when it began, for one that is active.
	Since time.Time
	// Begun is how often it has begun.
	Begun uint64
}

// ShedStatus is what has been refused.
type ShedStatus struct {
	Class    dynamic.PriorityClass
	Requests uint64
}

// Status returns the state after the last sample.
func (m *Ladder) Status() Status {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	status := Status{Reset: m.reset.requests.Load()}
	for i := range m.monitors {
		status.Pressures = append(status.Pressures, Pressure{Monitor: m.monitors[i].Name, Value: m.monitors[i].counts})
	}
	for i := range m.actions {
		one := ActionStatus{Action: Action(i), Active: m.actions[i].active, Begun: m.actions[i].begun}
		if one.Active {
			one.Since = m.actions[i].since
		}
		status.Actions = append(status.Actions, one)
	}
	for i := range m.shed {
		status.Shed = append(status.Shed, ShedStatus{
			Class: dynamic.PriorityLow + dynamic.PriorityClass(i), Requests: m.shed[i].Load(),
		})
	}
	return status
}
