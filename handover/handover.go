package handover

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// MaxLoading is how long a successor may take from Connect until TakeOver. After that the running process ends the
// hand-over.
const MaxLoading = 5 * time.Minute

var (
	// ErrNoPredecessor is the error of a path on which no process listens: there is no file, it is the file of a process
	// that has ended, or the process stops meanwhile.
	ErrNoPredecessor = errors.New("no process listens")
	// ErrPredecessorEnded is the error of TakeOver where the predecessor has ended before it has stopped serving. The
	// sockets are those of the successor alone, which goes on to serve.
	ErrPredecessorEnded = errors.New("the predecessor has ended")
)

// RefusedError is the answer of a process that refuses a hand-over, or ends one. It goes on as before.
type RefusedError struct {
	// Reason is a text for the log.
	Reason string
}

// Error returns the reason.
func (e *RefusedError) Error() string { return "refused: " + e.Reason }

// Networks of connected sockets.
const (
	// Session is the network of UDP sockets that are connected with servers, one for each session of a client.
	Session = "session"
	// Feed is the network of Unix sockets that keep packets apart. It takes datagrams to a process that drains.
	Feed = "feed"
)

// Address is what a socket is for.
type Address struct {
	// Name is that of the entrypoint or listener.
	Name string
	// Network is tcp or udp for a socket that is bound to an address, and [Session] or [Feed] for a connected one.
	Network string
	// HostPort is the address as configured, such as ":443".
	HostPort string
}

// String returns name, network and address for messages.
func (a Address) String() string { return fmt.Sprintf("%s (%s %s)", a.Name, a.Network, a.HostPort) }

// Socket is a socket of the running process: one that listens (TCP), one of a group (UDP), or a connected one.
type Socket struct {
	Address

	// Index is the position in a group of sockets with one address, from 0. There is one socket with it.
	Index int
	// Conn gives access to the descriptor. It is comparable, and the same one at every call of Sockets.
	Conn syscall.Conn
}

// State is something that a successor goes on with, such as the keys of session tickets. Kinds that a successor does
// not know, or not in this version, are ignored.
type State struct {
	// Kind is the name of what it is.
	Kind string
	// Version is that of the encoding of Data, from 1.
	Version int
	// Data may be secret. All states together have at most 32 MiB, and so have all final states.
	Data []byte
}

// String returns the kind without the data, which may be secret.
func (s State) String() string {
	return fmt.Sprintf("%s (version %d, %d bytes)", s.Kind, s.Version, len(s.Data))
}

// GoString is String.
func (s State) GoString() string { return s.String() }

// Process is the other process of a hand-over.
type Process struct {
	// PID is that of SO_PEERCRED: 0 for a process of a PID namespace that is not visible here.
	PID int
	// Release is the version of its program, as it says itself.
	Release string
}

// String returns release and PID.
func (p Process) String() string { return fmt.Sprintf("process %d of release %q", p.PID, p.Release) }

// timeouts bound what one process waits for the other one.
type timeouts struct {
	// answer bounds each answer and each message that is sent.
	answer time.Duration
	// alive is the time between two messages of a successor that is not ready yet, silence how long none may come, and
	// loading how long the successor may take until it is ready.
	alive, silence, loading time.Duration
	// yield bounds how long the running process may take to stop serving, and confirm how long the successor may take
	// to begin.
	yield, confirm time.Duration
	// last is how long an expired wait looks for a message that is there already.
	last time.Duration
}

func defaultTimeouts() timeouts {
	return timeouts{
		answer: 10 * time.Second, alive: 5 * time.Second, silence: 20 * time.Second, loading: MaxLoading,
		yield: 10 * time.Second, confirm: 10 * time.Second, last: 100 * time.Millisecond,
	}
}
