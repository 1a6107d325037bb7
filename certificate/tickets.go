package certificate

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// ticketRotation is the period in which one secret encrypts new session tickets.
	ticketRotation = 12 * time.Hour
	// ticketsKept is the number of secrets, the current one included, that decrypt tickets.
	ticketsKept = 3
)

// Tickets holds the secrets of session tickets. It is shared by all entrypoints and kept over reloads, so that clients
// can resume sessions. A secret is replaced every 12 hours, and decrypts tickets for 24 hours more.
//
// Every Options derives keys of its own from a secret and its fingerprint, so that a session accepted under weaker
// options, for instance without a client certificate, is not resumed under stricter ones.
type Tickets struct {
	next       atomic.Int64
	generation atomic.Uint64
	mutex      sync.Mutex
	secrets    [][sha256.Size]byte
}

// NewTickets returns Tickets with a fresh secret.
func NewTickets() *Tickets {
	t := &Tickets{}
	t.rotate(time.Now())
	return t
}

// current returns the number of the current secret, and rotates the secrets when due. Handshakes call it; it takes the
// lock only then.
func (t *Tickets) current(now time.Time) uint64 {
	if now.UnixNano() >= t.next.Load() {
		t.rotate(now)
	}
	return t.generation.Load()
}

func (t *Tickets) rotate(now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	next := t.next.Load()
	if now.UnixNano() < next {
		return
	}
	if overdue := now.UnixNano() - next; next != 0 && overdue > int64(ticketRotation)*(ticketsKept-1) {
		// All secrets have expired.
		t.secrets = nil
	}
	var secret [sha256.Size]byte
	// crypto/rand.Read does not return errors: it ends the process if the system has no randomness.
	_, _ = rand.Read(secret[:])
	t.secrets = append([][sha256.Size]byte{secret}, t.secrets[:min(len(t.secrets), ticketsKept-1)]...)
	t.next.Store(now.Add(ticketRotation).UnixNano())
	t.generation.Add(1)
}

// keys returns the ticket keys for a fingerprint, the one for new tickets first, and their generation.
func (t *Tickets) keys(fingerprint [sha256.Size]byte) ([][32]byte, uint64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	keys := make([][32]byte, 0, len(t.secrets))
	for _, secret := range t.secrets {
		mac := hmac.New(sha256.New, secret[:])
		_, _ = mac.Write([]byte("session tickets of TLS options "))
		_, _ = mac.Write(fingerprint[:])
		keys = append(keys, [32]byte(mac.Sum(nil)))
	}
	return keys, t.generation.Load()
}

// shorten returns the fingerprint as connections store it.
func shorten(fingerprint [sha256.Size]byte) uint64 { return binary.BigEndian.Uint64(fingerprint[:]) }
