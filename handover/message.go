package handover

import (
	"encoding/json"
	"errors"
	"fmt"
)

const (
	// protocolVersion is the version of the messages.
	protocolVersion = 1
	// maxMessageBytes is the size of the largest message.
	maxMessageBytes = 64 << 10
	// maxDescriptors is how many descriptors a message can have. The kernel allows 253 (SCM_MAX_FD).
	maxDescriptors = 64
	// maxSockets is how many sockets are handed over at most.
	maxSockets = 1 << 16
	// maxStateBytes is the size of all state together, and maxPartBytes that of a part before it is written as JSON.
	maxStateBytes = 32 << 20
	maxPartBytes  = 32 << 10
)

// messageType says what a message is for.
type messageType string

const (
	typeHello   messageType = "hello"
	typeWelcome messageType = "welcome"
	typeRefuse  messageType = "refuse"
	typeSockets messageType = "sockets"
	typeAck     messageType = "ack"
	typeStates  messageType = "states"
	typeState   messageType = "state"
	typeEnd     messageType = "end"
	typeAlive   messageType = "alive"
	typeReady   messageType = "ready"
	typeYielded messageType = "yielded"
	typeServing messageType = "serving"
	typeBye     messageType = "bye"
	typeUpgrade messageType = "upgrade"
	typeStarted messageType = "started"
	typeDone    messageType = "done"
	typeFailed  messageType = "failed"
)

// known reports whether version 1 has the type.
func (t messageType) known() bool {
	switch t {
	case typeHello, typeWelcome, typeRefuse, typeSockets, typeAck, typeStates, typeState, typeEnd, typeAlive, typeReady,
		typeYielded, typeServing, typeBye, typeUpgrade, typeStarted, typeDone, typeFailed:
		return true
	}
	return false
}

// message is one packet. Which members it has follows from its type.
type message struct {
	Type messageType `json:"type"`
	// Versions are those that the sender of hello speaks, Version the one that welcome selects.
	Versions []int `json:"versions,omitempty"`
	Version  int   `json:"version,omitempty"`
	// Release is the version of the sender's program.
	Release string `json:"release,omitempty"`
	// Reason is that of refuse and failed.
	Reason string `json:"reason,omitempty"`
	// Sockets belong to the descriptors of the packet, in their order.
	Sockets []socketEntry `json:"sockets,omitempty"`
	// State is part of a State.
	State *statePart `json:"state,omitempty"`
	// PID is that of a started process.
	PID int `json:"pid,omitempty"`
}

// socketEntry is a Socket in a message.
type socketEntry struct {
	Name    string `json:"name"`
	Network string `json:"network"`
	Address string `json:"address"`
	Index   int    `json:"index,omitempty"`
}

// statePart is a part of a State in a message. Parts of one State follow one another.
type statePart struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	Part    []byte `json:"part"`
	Last    bool   `json:"last,omitempty"`
}

// encode returns a message as a packet.
func (m *message) encode() ([]byte, error) {
	packet, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if len(packet) > maxMessageBytes {
		return nil, fmt.Errorf("a message of type %s has %d bytes, more than %d", m.Type, len(packet), maxMessageBytes)
	}
	return packet, nil
}

// parse reads a packet.
func parse(packet []byte) (*message, error) {
	if len(packet) > maxMessageBytes {
		return nil, fmt.Errorf("a message has more than %d bytes", maxMessageBytes)
	}
	m := new(message)
	if err := json.Unmarshal(packet, m); err != nil {
		return nil, fmt.Errorf("a message is no JSON of version %d: %w", protocolVersion, err)
	}
	if !m.Type.known() {
		return nil, fmt.Errorf("a message has the type %q, which is unknown", m.Type)
	}
	if len(m.Sockets) > maxDescriptors {
		return nil, fmt.Errorf("a message has %d sockets, more than %d", len(m.Sockets), maxDescriptors)
	}
	for _, socket := range m.Sockets {
		switch socket.Network {
		case "tcp", "udp", Session, Feed:
		default:
			return nil, fmt.Errorf("the socket of %q has the network %q, which is unknown", socket.Name, socket.Network)
		}
	}
	if m.Type == typeState && m.State == nil {
		return nil, errors.New("a message of type state has no state")
	}
	return m, nil
}
