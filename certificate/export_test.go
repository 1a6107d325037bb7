package certificate

import "time"

// What external tests name.
const (
	SelfSignedName = selfSignedName
	TicketRotation = ticketRotation
)

// TicketKeys returns the keys of session tickets for a fingerprint, after a rotation that is due.
func TicketKeys(t *Tickets, fingerprint byte) [][32]byte {
	t.current(time.Now())
	keys, _ := t.keys([32]byte{fingerprint})
	return keys
}

// Rotate makes a rotation before it is due.
func Rotate(t *Tickets) { t.rotate(time.Unix(0, t.next.Load())) }

// TicketGeneration returns which generation of keys the configuration has.
func TicketGeneration(o *Options) uint64 { return o.applied.Load() }
