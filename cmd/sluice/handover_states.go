package main

import (
	"context"
	"encoding/json"
	"math"
	"net"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/handover"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/router"
)

const (
	// sessionsKind is the state with the sessions of UDP, and sessionsVersion that of its encoding.
	sessionsKind    = "udp-sessions"
	sessionsVersion = 1
	// ticketsKind is the state with the secrets of session tickets, and ticketsVersion that of its encoding.
	ticketsKind    = "tickets"
	ticketsVersion = 1
	// checksKind is the state with the failed health checks, and checksVersion that of its encoding.
	checksKind    = "health-checks"
	checksVersion = 1
	// countsKind is the state with the counts of middlewares, and countsVersion that of its encoding. Those of maxCounts
	// sources are handed over at most, which takes some milliseconds.
	countsKind    = "middleware-counts"
	countsVersion = 1
	maxCounts     = 1 << 17
	// maxSessions is how many sessions are handed over at most: the kernel has some 28,000 ports for them.
	maxSessions = 1 << 15
	// maxSessionState is the size of the state that belongs to them: all final states have 32 MiB.
	maxSessionState = 24 << 20
	// returnTime bounds how long sessions are returned to the predecessor.
	returnTime = 5 * time.Second
)

// leavable has sessions that can go on in another process.
type leavable interface{ Leave() }

// relayed are the sessions of an address. The index of a session is that of its socket in the hand-over.
type relayed struct {
	Name     string `json:"name"`
	HostPort string `json:"address"`
	datagram.Handed
}

// relays calls yield with the servers of the UDP addresses until it returns false.
func (h *succession) relays(yield func(owner, *datagram.Server) bool) {
	for _, one := range h.owners() {
		packets, ok := one.server.(*entrypoint.PacketEntrypoint)
		if !ok {
			continue
		}
		server, ok := packets.Server().(*datagram.Server)
		if listener, is := packets.Server().(*datagramListener); is {
			server, ok = listener.Server, true
		}
		if ok && !yield(one, server) {
			return
		}
	}
}

// relay collects the sessions that the successor gets, while nothing is read: fewer where their state is too large.
func (h *succession) relay() {
	for limit := maxSessions; ; limit /= 2 {
		omitted := h.collectSessions(limit)
		data, err := json.Marshal(h.relayed)
		if err == nil && len(data) > maxSessionState && limit > 0 {
			continue
		}
		if err != nil {
			h.system.logger.Error("sessions of UDP are not handed over", "error", err)
			omitted, data = h.collectSessions(0), nil
		}
		h.sessions = data
		if omitted > 0 {
			h.system.logger.Warn("sessions of UDP begin anew in the successor", "count", omitted, "limit", limit)
		}
		return
	}
}

// collectSessions collects so many sessions at most, and returns how many are left out.
func (h *succession) collectSessions(left int) (omitted int) {
	h.relayed = nil
	for one, server := range h.relays {
		handed := server.Handed(left)
		left -= len(handed.Sessions)
		omitted += handed.Omitted
		h.relayed = append(h.relayed, relayed{Name: one.name, HostPort: one.hostPort, Handed: handed})
	}
	return omitted
}

// sessionSockets returns the sockets of the sessions that the successor gets.
func (h *succession) sessionSockets() []handover.Socket {
	var sockets []handover.Socket
	for _, one := range h.relayed {
		address := handover.Address{Name: one.Name, Network: handover.Session, HostPort: one.HostPort}
		for i := range one.Sessions {
			sockets = append(sockets, handover.Socket{Address: address, Index: i, Conn: one.Sessions[i].Conn})
		}
	}
	return sockets
}

// sessionState yields the state that belongs to the sockets, if there is one.
func (h *succession) sessionState(yield func(handover.State) bool) bool {
	if len(h.relayed) == 0 || h.sessions == nil {
		return true
	}
	return yield(handover.State{Kind: sessionsKind, Version: sessionsVersion, Data: h.sessions})
}

// adoptSessions has the servers of this process go on with the sessions of the predecessor, before they serve.
func (h *succession) adoptSessions() {
	state, ok := h.predecessor.State(sessionsKind, sessionsVersion)
	if !ok {
		return
	}
	var all []relayed
	if err := json.Unmarshal(state.Data, &all); err != nil {
		h.system.logger.Error("sessions of UDP begin anew: the state of the predecessor is unreadable", "error", err)
		return
	}
	count := 0
	for i := range all {
		one := &all[i]
		conns := h.predecessor.Inherited().Conns(handover.Session, one.Name, one.HostPort)
		one.Sessions = connected(one.Sessions, conns)
		server := h.relayOf(one.Name, one.HostPort)
		if server == nil {
			h.endSessions(one)
			continue
		}
		server.Adopt(one.Handed, h.system.balancing.registry)
		count += len(one.Sessions)
	}
	if count > 0 {
		h.system.logger.Info("sessions of UDP go on", "count", count)
	}
}

// connected returns the sessions whose sockets have come.
func connected(sessions []datagram.Session, conns map[int]net.Conn) []datagram.Session {
	kept := sessions[:0]
	for i := range sessions {
		if conn, ok := conns[i].(syscall.Conn); ok {
			sessions[i].Conn = conn
			kept = append(kept, sessions[i])
		}
	}
	return kept
}

// relayOf returns the server of an address, that of the name first; nil without one.
func (h *succession) relayOf(name, hostPort string) *datagram.Server {
	var found *datagram.Server
	for one, server := range h.relays {
		if one.hostPort == hostPort && (one.name == name || found == nil) {
			found = server
		}
	}
	return found
}

// endSessions ends the sessions of an address that this process does not have.
func (h *succession) endSessions(of *relayed) {
	if len(of.Sessions) == 0 {
		return
	}
	h.system.logger.Warn("sessions of UDP end: their entrypoint is gone", "entrypoint", of.Name, "address", of.HostPort,
		"count", len(of.Sessions))
	deps := h.system.observability.dependencies(of.Name, defaultEntryPoint())
	server := datagram.NewServer(&datagram.Router{}, datagram.Options{
		EntryPoint: of.Name, Observer: sessions{sinks: deps.Sinks, observe: deps.Observe},
	})
	server.End(of.Sessions)
}

// returnSessions forgets the sessions of the predecessor, if there is one, and has it serve on.
func (h *succession) returnSessions() {
	if h.predecessor == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), returnTime)
	defer cancel()
	for _, server := range h.relays {
		if server.Park(ctx) == nil {
			server.Handed(math.MaxInt)
		}
		server.Leave()
	}
	_ = h.predecessor.Close()
}

// ticketState returns the secrets of session tickets.
func (h *succession) ticketState() handover.State {
	return handover.State{Kind: ticketsKind, Version: ticketsVersion, Data: h.system.keys.Export()}
}

// inheritTickets has this process resume the TLS sessions of the predecessor.
func (h *succession) inheritTickets() {
	state, ok := h.predecessor.State(ticketsKind, ticketsVersion)
	if !ok {
		return
	}
	if err := h.system.keys.Import(state.Data); err != nil {
		h.system.logger.Error("TLS sessions of the predecessor are not resumed", "error", err)
	}
}

// checkState yields the failed health checks, if there are some.
func (h *succession) checkState(yield func(handover.State) bool) bool {
	failed := h.system.balancing.registry.FailedChecks()
	if len(failed) == 0 {
		return true
	}
	data, err := json.Marshal(failed)
	if err != nil {
		h.system.logger.Error("failed health checks are not handed over", "error", err)
		return true
	}
	return yield(handover.State{Kind: checksKind, Version: checksVersion, Data: data})
}

// inheritChecks has health checks begin as failed that have failed in the predecessor.
func (h *succession) inheritChecks() {
	state, ok := h.predecessor.State(checksKind, checksVersion)
	if !ok {
		return
	}
	var failed []loadbalancer.FailedCheck
	if err := json.Unmarshal(state.Data, &failed); err != nil {
		h.system.logger.Error("the failed health checks of the predecessor are unreadable", "error", err)
		return
	}
	h.system.balancing.registry.Inherit(failed)
	h.system.logger.Info("failed health checks of the predecessor count until the first results", "count", len(failed))
}

// countState yields the counts of middlewares, if there are some.
func (h *succession) countState(yield func(handover.State) bool) bool {
	counts, all := h.system.compiler.ExportCounts(maxCounts)
	if !all {
		h.system.logger.Warn("some sources of rate limits begin anew in the successor", "handedOver", maxCounts)
	}
	if len(counts) == 0 {
		return true
	}
	data, err := json.Marshal(counts)
	if err != nil {
		h.system.logger.Error("the counts of middlewares are not handed over", "error", err)
		return true
	}
	return yield(handover.State{Kind: countsKind, Version: countsVersion, Data: data})
}

// inheritCounts has middlewares go on with the counts of the predecessor.
func (h *succession) inheritCounts() {
	state, ok := h.predecessor.State(countsKind, countsVersion)
	if !ok {
		return
	}
	var counts []router.MiddlewareCounts
	err := json.Unmarshal(state.Data, &counts)
	if err == nil {
		err = h.system.compiler.ImportCounts(counts)
	}
	if err != nil {
		h.system.logger.Error("some middlewares begin to count anew", "error", err)
	}
}
