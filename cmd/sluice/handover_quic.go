package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/sluiceproxy/sluice/entrypoint/h3"
	"github.com/sluiceproxy/sluice/handover"
)

const (
	// quicKind is the state with the keys of HTTP/3, in the version h3.StateVersion.
	quicKind = "quic"
	// openingKind is the state with the clients whose handshakes of HTTP/3 are under way, by the names of entrypoints.
	openingKind    = "quic.opening"
	openingVersion = 1
)

// quicOwner serves HTTP/3, and passes packets on to processes that drain.
type quicOwner interface {
	Feeds(yield func(generation byte, feed syscall.Conn) bool)
	Opening() []h3.Opening
	Adopt(feeds map[int]net.Conn, opening []h3.Opening)
}

// inheritQUIC takes the keys of HTTP/3 of the predecessor, if it has sent some in a version that is known.
func (h *succession) inheritQUIC() error {
	state, ok := h.predecessor.State(quicKind, h3.StateVersion)
	if !ok {
		return nil
	}
	process, err := h3.NewSuccessor(state.Data)
	if err != nil {
		return fmt.Errorf("handover: %w", err)
	}
	h.system.http3, h.inheritsQUIC = process, true
	return nil
}

// quicState yields the keys of HTTP/3, and returns what yield does.
func (h *succession) quicState(yield func(handover.State) bool) bool {
	data, err := h.system.http3.Export()
	if err != nil {
		h.system.logger.Warn("the keys of HTTP/3 are not handed over", "error", err)
		return true
	}
	return yield(handover.State{Kind: quicKind, Version: h3.StateVersion, Data: data})
}

// quicOpening yields the clients whose handshakes are under way, and returns what yield does.
func (h *succession) quicOpening(yield func(handover.State) bool) bool {
	all := map[string][]h3.Opening{}
	for _, one := range h.entrypoints {
		if quic, ok := one.(quicOwner); ok {
			all[one.Name()] = quic.Opening()
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		h.system.logger.Warn("handshakes of HTTP/3 are not handed over", "error", err)
		return true
	}
	return yield(handover.State{Kind: openingKind, Version: openingVersion, Data: data})
}

// feeds returns the sockets over which a successor passes packets of HTTP/3 on.
func feeds(of owner) []handover.Socket {
	quic, ok := of.server.(quicOwner)
	if !ok {
		return nil
	}
	var sockets []handover.Socket
	for generation, feed := range quic.Feeds {
		sockets = append(sockets, handover.Socket{
			Address: handover.Address{Name: of.name, Network: handover.Feed, HostPort: of.hostPort},
			Index:   int(generation), Conn: feed,
		})
	}
	return sockets
}

// adoptQUIC has packets of HTTP/3 passed on to processes that drain. Without the keys of the predecessor, its
// connections of HTTP/3 end when the feeds are closed.
func (h *succession) adoptQUIC(entrypoints []listener) error {
	if !h.inheritsQUIC {
		return nil
	}
	opening := map[string][]h3.Opening{}
	if state, ok := h.predecessor.State(openingKind, openingVersion); ok && json.Unmarshal(state.Data, &opening) != nil {
		return errors.New("handover: the handshakes of HTTP/3 are malformed")
	}
	for _, one := range entrypoints {
		quic, ok := one.(quicOwner)
		if !ok {
			continue
		}
		address, err := h.system.config.EntryPoints[one.Name()].ListenAddress()
		if err != nil {
			return fmt.Errorf("handover: entrypoint %q: %w", one.Name(), err)
		}
		feeds := h.predecessor.Inherited().Conns(handover.Feed, one.Name(), address.HostPort())
		quic.Adopt(feeds, opening[one.Name()])
	}
	return nil
}
