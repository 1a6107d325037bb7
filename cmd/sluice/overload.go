package main

import (
	"math"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

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
	s.overload = overload.New(s.config.Overload, overload.Options{
		Monitors: overloadMonitors(&s.config.Overload, foundMemoryLimit(), s.observability.metrics.OpenConnections),
		Logger:   s.logs.For(log.SubsystemOverload),
		Ready:    s.pipeline.FirstReady(),
	})
	s.target.SetShedder(s.overload)
	s.observability.metrics.Register(metrics.NewOverload(s.overloadState))
}

// overloadMonitors returns the monitors of the configuration. found is the memory limit of the process in bytes, 0
// without one, and connections counts those that are open.
func overloadMonitors(config *static.Overload, found int64, connections func() int64) []overload.Monitored {
	var monitors []overload.Monitored
	limit := config.Memory.Limit
	if limit == 0 {
		limit = found
	}
	if limit > 0 {
		monitors = append(monitors, overload.Monitored{
			Name: "memory", Option: "overload.memory", Monitor: overload.Memory(limit, config.Memory.GCShare, nil, nil),
			Actions: append(overload.Shedding(), overload.EndKeepAlive, overload.ReduceTimeouts,
				overload.StopAccepting),
			Connections: float64(limit) / connectionBytes,
		})
	}
	if latency := config.CPU.SchedulerLatency; latency > 0 {
		monitors = append(monitors, overload.Monitored{
			Name: "cpu", Option: "overload.cpu.schedulerLatency",
			Monitor: overload.Scheduler(time.Duration(latency), nil), Actions: overload.Shedding(),
		})
	}
	if limit := config.Connections.Limit; limit > 0 {
		monitors = append(monitors, overload.Monitored{
			Name: "connections", Option: "overload.connections.limit",
			Monitor: overload.Count(connections, int64(limit)),
			Actions: []overload.Action{overload.EndKeepAlive, overload.ReduceTimeouts},
		})
	}
	return monitors
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

// isOwn reports whether an entrypoint is that of Sluice's own services, which serves before there are routes.
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
