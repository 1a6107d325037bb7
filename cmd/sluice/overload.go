package main

import (
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/httpio/held"
	"github.com/sluiceproxy/sluice/overload"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/log"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// connectionBytes is what room is left for by connection, in bytes. One that uploads over HTTP/2 takes 60 to 130 KiB,
// which shows some samples later, and its TLS handshake leaves as much to be collected.
const connectionBytes = 512 << 10

// newOverload makes the overload manager, and has the router and the metrics use it. It is called after the memory
// limit of the process is set, and before requests come.
func (s *system) newOverload() {
	logger := s.logs.For(log.SubsystemOverload)
	found := limits{memory: foundMemoryLimit()}
	if s.config.Overload.Descriptors.Limit >= 0 {
		found.descriptors = descriptors.Available(s.config.Descriptors.Reserve)
		if _, err := descriptors.Open(); err != nil {
			found.descriptors = -1
			logger.Warn("overload: open file descriptors are not counted", "option", "overload.descriptors.limit", "error", err)
		}
	}
	options := overload.Options{
		Monitors: overloadMonitors(&s.config.Overload, found, s.observability.metrics.OpenConnections),
		Logger:   logger,
		Ready:    s.pipeline.FirstReady(),
	}
	if s.held != nil {
		options.Resetter = s.held
	}
	s.overload = overload.New(s.config.Overload, options)
	s.target.SetShedder(s.overload)
	s.observability.metrics.Register(metrics.NewOverload(s.overloadState))
}

// newHeld returns what knows the requests that hold much memory, nil where none is ended for that.
func newHeld(config *static.Overload) *held.Registry {
	if config.Memory.Limit < 0 || config.Actions.ResetLargest == 0 {
		return nil
	}
	return held.New(time.Duration(config.RetryAfter))
}

// limits are those of the process; 0 is none.
type limits struct {
	// memory is in bytes.
	memory int64
	// descriptors are without those in reserve; negative where they cannot be counted.
	descriptors int
}

// overloadMonitors returns the monitors of the configuration. connections counts those that are open.
func overloadMonitors(config *static.Overload, found limits, connections func() int64) []overload.Monitored {
	var monitors []overload.Monitored
	limit := config.Memory.Limit
	if limit == 0 {
		limit = found.memory
	}
	if limit > 0 {
		monitors = append(monitors, overload.Monitored{
			Name: "memory", Option: "overload.memory", Monitor: overload.Memory(limit, config.Memory.GCShare, nil, nil),
			Actions: append(overload.Shedding(), overload.EndKeepAlive, overload.ReduceTimeouts,
				overload.StopAccepting, overload.ResetLargest),
			Connections: float64(limit) / connectionBytes,
		})
	}
	if latency := config.CPU.SchedulerLatency; latency > 0 {
		monitors = append(monitors, overload.Monitored{
			Name: "cpu", Option: "overload.cpu.schedulerLatency",
			Queue: overload.Scheduler(time.Duration(latency), nil), Actions: overload.Shedding(),
			Processors: runtime.GOMAXPROCS(0),
		})
	}
	if limit := config.Connections.Limit; limit > 0 {
		monitors = append(monitors, overload.Monitored{
			Name: "connections", Option: "overload.connections.limit",
			Monitor: overload.Count(connections, int64(limit)),
			Actions: []overload.Action{overload.EndKeepAlive, overload.ReduceTimeouts},
		})
	}
	if limit := descriptorLimit(config, found); limit > 0 {
		monitors = append(monitors, overload.Monitored{
			Name: "descriptors", Option: "overload.descriptors.limit",
			Monitor:     overload.Descriptors(descriptors.Open, connections, limit),
			Actions:     []overload.Action{overload.EndKeepAlive, overload.ReduceTimeouts, overload.StopAccepting},
			Connections: float64(limit) / overload.ConnectionDescriptors,
		})
	}
	return monitors
}

// descriptorLimit returns how many descriptors are a pressure of 1; 0 or less does not count them.
func descriptorLimit(config *static.Overload, found limits) int {
	if config.Descriptors.Limit == 0 || found.descriptors < 0 {
		return found.descriptors
	}
	return config.Descriptors.Limit
}

// foundMemoryLimit returns the lower one of GOMEMLIMIT and the part of the container's limit that the runtime may use,
// in bytes; 0 without both.
func foundMemoryLimit() int64 {
	limit := debug.SetMemoryLimit(-1)
	if container, err := memlimit.FromCgroup(); err == nil && container > 0 && container < math.MaxInt64 {
		limit = min(limit, int64(memoryShare*float64(container)))
	}
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// overloadState returns the state of the manager as metrics.
func (s *system) overloadState() metrics.Overload {
	status := s.overload.Status()
	state := metrics.Overload{
		Pressures: map[string]float64{}, Active: map[string]bool{}, Begun: map[string]uint64{}, Shed: map[string]uint64{},
		Reset: status.Reset,
	}
	for _, pressure := range status.Pressures {
		state.Pressures[pressure.Monitor] = pressure.Value
	}
	for _, action := range status.Actions {
		state.Active[action.Action.String()], state.Begun[action.Action.String()] = action.Active, action.Begun
	}
	for _, shed := range status.Shed {
		state.Shed[shed.Class.String()] = shed.Requests
	}
	return state
}

// isOwn reports whether an entrypoint is that of Sluice's own services, which serves before Sluice is ready.
func (s *system) isOwn(entrypoint string) bool {
	return strings.EqualFold(entrypoint, static.InternalEntryPoint) ||
		s.config.Ping != nil && s.config.Ping.EntryPoint == entrypoint
}

// lastResponse is a response that can be the last one of its connection.
type lastResponse interface{ CloseAfter() }

// endingKeepAlive ends connections with the response while the action for that is under way.
type endingKeepAlive struct {
	manager *overload.Ladder
	next    http.Handler
}

// ServeHTTP hands the request on.
func (e endingKeepAlive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.manager.Active(overload.EndKeepAlive) {
		if last, ok := w.(lastResponse); ok {
			last.CloseAfter()
		}
	}
	e.next.ServeHTTP(w, r)
}
