package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sluiceproxy/sluice/handover"
)

const (
	// reservedKind is the announced state with the reserved loopback addresses, and reservedVersion that of its encoding.
	reservedKind    = "reserved-addresses"
	reservedVersion = 1
)

// announce has the predecessor open no connection to the reserved addresses of this process, also while it drains.
func (h *succession) announce(ctx context.Context) error {
	addresses := h.system.connections.Export()
	if bytes.Equal(addresses, h.announced) {
		return nil
	}
	h.announced = addresses
	err := h.predecessor.Announce(ctx, handover.State{Kind: reservedKind, Version: reservedVersion, Data: addresses})
	if err != nil && !errors.Is(err, handover.ErrPredecessorEnded) { // TakeOver goes on then.
		return fmt.Errorf("handover: the running process serves on: %w", err)
	}
	return nil
}

// successorListens has this process open no connection to the reserved addresses of a successor; without a kind, the
// hand-over has failed.
func (h *succession) successorListens(state handover.State) error {
	if state.Kind != "" && (state.Kind != reservedKind || state.Version != reservedVersion) {
		return nil
	}
	return h.system.connections.Import(state.Data)
}
