package static

import (
	"fmt"
	"time"
)

// Overload says when Sluice is overloaded and what it does then. Pressure is measured in percent of the limit of each
// resource; the highest one counts.
type Overload struct {
	Memory      OverloadMemory      `json:"memory" description:"Pressure on memory."`
	CPU         OverloadCPU         `json:"cpu" description:"Pressure on the CPU."`
	Connections OverloadConnections `json:"connections" description:"Pressure by open connections, which has only the actions endKeepAlive and reduceTimeouts."`
	Descriptors OverloadDescriptors `json:"descriptors" description:"Pressure by open file descriptors, which has only the actions endKeepAlive, reduceTimeouts and stopAccepting."`
	Interval    Duration            `json:"interval" description:"Time between two measurements, 10ms to 10s." range:"10000000..10000000000"`
	RetryAfter  Duration            `json:"retryAfter" description:"Header Retry-After of refused requests, rounded up to seconds; 0 leaves it out." range:"0.."`
	Actions     OverloadActions     `json:"actions" description:"The pressure at which an action begins, in percent; 0 is never."`
	Hysteresis  int                 `json:"hysteresis" description:"How far the pressure has to fall below the value of an action for it to end, in points of a percent. Those under pressure on the CPU end when no request has been refused for a second." range:"0..50"`
}

// SetDefaults measures nothing.
func (o *Overload) SetDefaults() {
	o.Memory.SetDefaults()
	o.Descriptors.SetDefaults()
	o.Interval = Duration(100 * time.Millisecond)
	o.RetryAfter = Duration(time.Second)
	o.Actions.SetDefaults()
	o.Hysteresis = 5
}

// OverloadMemory says when memory is short.
type OverloadMemory struct {
	Limit   int64 `json:"limit" description:"Memory in bytes at which the pressure is 100 percent; 0 is GOMEMLIMIT, which by default is 90 percent of the limit of the container, and without either memory is not measured. A negative number, the default, does not measure it."`
	GCShare int   `json:"gcShare" description:"Share of the CPU time spent on garbage collection at which the pressure is 90 percent, in percent; 0 does not measure it. It needs a limit." range:"0..100"`
}

// SetDefaults does not measure memory, and sets the share of the collector.
func (o *OverloadMemory) SetDefaults() { o.Limit, o.GCShare = -1, 40 }

// OverloadCPU says when the CPU is short.
type OverloadCPU struct {
	SchedulerLatency Duration `json:"schedulerLatency" description:"The 99th percentile of the time for which runnable goroutines wait for a CPU at which the pressure is 90 percent, such as 10ms; 0 does not measure it." range:"0.."`
}

// OverloadConnections says when there are many connections.
type OverloadConnections struct {
	Limit int `json:"limit" description:"Open connections of clients on all entrypoints at which the pressure is 100 percent. Further ones are accepted. 0 does not count them." range:"0.."`
}

// OverloadDescriptors says when file descriptors are short.
type OverloadDescriptors struct {
	Limit int `json:"limit" description:"Open file descriptors of the process at which the pressure is 100 percent; 0 is RLIMIT_NOFILE without descriptors.reserve. A negative number, the default, does not count them."`
}

// SetDefaults does not count descriptors.
func (o *OverloadDescriptors) SetDefaults() { o.Limit = -1 }

// OverloadActions are the thresholds of what is done.
type OverloadActions struct {
	EndKeepAlive   int `json:"endKeepAlive" description:"Connections of clients end with the response to their next request, under pressure on memory, by connections or by descriptors." range:"0..100"`
	ReduceTimeouts int `json:"reduceTimeouts" description:"Connections of clients that have been idle, or have not sent a byte yet, for a fifth of respondingTimeouts.idleTimeout are closed, under pressure on memory, by connections or by descriptors." range:"0..100"`
	ShedLow        int `json:"shedLow" description:"Requests of routers with the priorityClass low are refused: under pressure on memory, a share that grows to all of them at shedDefault; under pressure on the CPU, those beyond a limit of requests at a time, which follows the pressure." range:"0..100"`
	ShedDefault    int `json:"shedDefault" description:"Requests of routers with the priorityClass default are refused: under pressure on memory, a share that grows to all of them at shedHigh; under pressure on the CPU, those beyond a limit of requests at a time, which follows the pressure." range:"0..100"`
	ShedHigh       int `json:"shedHigh" description:"Requests of routers with the priorityClass high are refused: under pressure on memory, a share that grows to all of them at 100 percent; under pressure on the CPU, those beyond a limit of requests at a time, which follows the pressure." range:"0..100"`
	ResetLargest   int `json:"resetLargest" description:"Requests for which the middleware buffering holds the most memory are ended, those that together hold a tenth of what all hold, under pressure on memory. Those of routers with the priorityClass critical are not." range:"0..100"`
	StopAccepting  int `json:"stopAccepting" description:"Connections of clients wait in the queue of the system, but for ten a second on each entrypoint, and those of HTTP/3 are refused, under pressure on memory or by descriptors. Below this value, as many are accepted between two measurements as there is room for; those of HTTP/3 beyond them are refused." range:"0..100"`
}

// SetDefaults sets the order in which the actions begin.
func (o *OverloadActions) SetDefaults() {
	o.EndKeepAlive, o.ReduceTimeouts = 80, 80
	o.ShedLow, o.ShedDefault, o.ShedHigh, o.StopAccepting, o.ResetLargest = 85, 92, 97, 95, 98
}

// overload checks that less important requests are refused first.
func (l *loader) overload() {
	actions := &l.Configuration.Overload.Actions
	lower, least := "", 0
	for _, next := range []struct {
		option string
		begins int
	}{
		{"shedLow", actions.ShedLow}, {"shedDefault", actions.ShedDefault}, {"shedHigh", actions.ShedHigh},
	} {
		switch {
		case next.begins == 0:
			continue
		case next.begins < least:
			l.fail(fmt.Sprintf("%d is below %s, which is %d: less important requests are refused first", next.begins, lower,
				least), "overload", "actions", next.option)
			continue
		}
		lower, least = next.option, next.begins
	}
}
