package certificate

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// ticketRotation is the period in which one key encrypts new session tickets.
	ticketRotation = 12 * time.Hour
	// ticketsKept is the number of periods, the current one included, whose keys decrypt tickets.
	ticketsKept = 3
)

// Tickets holds the secrets of session tickets. It is shared by all entrypoints and kept over reloads, so that clients
// can resume sessions. The key for new tickets is replaced every 12 hours, and decrypts tickets for 24 hours more. It
// comes from a secret of the process, or, after Share, from one that all replicas have.
//
// Every Options derives keys of its own from a secret and its fingerprint, so that a session accepted under weaker
// options, for instance without a client certificate, is not resumed under stricter ones.
type Tickets struct {
	next       atomic.Int64
	generation atomic.Uint64

	mutex sync.Mutex
	// own are the secrets of this process, the newest first.
	own []ownSecret
	// shared is that of all replicas; nil as long as there is none.
	shared *TicketSecret
	// now is the time that the present keys are of.
	now time.Time
}

// ownSecret is a secret of this process: new tickets are encrypted until ends, and decrypted until expires.
type ownSecret struct {
	secret        [sha256.Size]byte
	ends, expires time.Time
}

// TicketSecret is a secret that replicas share. The keys of each period of 12 hours are derived from it.
type TicketSecret struct {
	// Current encrypts new tickets from Began on; until then, Previous does.
	Current [sha256.Size]byte
	Began   time.Time
	// Previous is the secret before Current; nil for none.
	Previous *[sha256.Size]byte
}

// String does not show the secret.
func (TicketSecret) String() string { return "secret of session tickets" }

// GoString does not show the secret.
func (s TicketSecret) GoString() string { return s.String() }

// NewTickets returns Tickets with a fresh secret.
func NewTickets() *Tickets {
	t := &Tickets{}
	t.rotate(time.Now())
	return t
}

// Share makes a secret of all replicas the one of new tickets. Those that secrets of this process have encrypted are
// decrypted until they expire.
func (t *Tickets) Share(secret TicketSecret) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.shared = &secret
	t.change(time.Now())
}

// current returns the number of the current keys, and changes the keys when due. Handshakes call it; it takes the
// lock only then.
func (t *Tickets) current(now time.Time) uint64 {
	if now.UnixNano() >= t.next.Load() {
		t.rotate(now)
	}
	return t.generation.Load()
}

// rotate changes the keys when due.
func (t *Tickets) rotate(now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if now.UnixNano() >= t.next.Load() {
		t.change(now)
	}
}

// change sets what the keys are derived from. The mutex is held.
func (t *Tickets) change(now time.Time) {
	t.own = slices.DeleteFunc(t.own, func(s ownSecret) bool { return !now.Before(s.expires) })
	if t.shared == nil && (len(t.own) == 0 || !now.Before(t.own[0].ends)) {
		fresh := ownSecret{ends: now.Add(ticketRotation), expires: now.Add(ticketsKept * ticketRotation)}
		// crypto/rand.Read does not return errors: it ends the process if the system has no randomness.
		_, _ = rand.Read(fresh.secret[:])
		t.own = append([]ownSecret{fresh}, t.own...)
	}
	t.now = now
	t.next.Store(t.end().UnixNano())
	t.generation.Add(1)
}

// end returns when the keys change next.
func (t *Tickets) end() time.Time {
	var ends []time.Time
	for _, s := range t.own {
		ends = append(ends, s.expires)
	}
	if t.shared == nil {
		ends = append(ends, t.own[0].ends)
	} else {
		ends = append(ends, t.shared.Began, time.Unix((epochOf(t.now)+1)*int64(ticketRotation/time.Second), 0))
	}
	ends = slices.DeleteFunc(ends, func(end time.Time) bool { return !end.After(t.now) })
	return slices.MinFunc(ends, time.Time.Compare)
}

// epochOf returns the number of the period of a time. All replicas number the periods alike.
func epochOf(now time.Time) int64 { return now.Unix() / int64(ticketRotation/time.Second) }

// keys returns the ticket keys for a fingerprint, the one for new tickets first, and their generation.
func (t *Tickets) keys(fingerprint [sha256.Size]byte) ([][32]byte, uint64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var keys [][32]byte
	if t.shared != nil {
		keys = t.shared.keys(t.now, fingerprint)
	}
	for _, s := range t.own {
		mac := hmac.New(sha256.New, s.secret[:])
		_, _ = mac.Write([]byte("session tickets of TLS options "))
		_, _ = mac.Write(fingerprint[:])
		keys = append(keys, [32]byte(mac.Sum(nil)))
	}
	return keys, t.generation.Load()
}

// keys returns those of the present period, of the past ones whose tickets are decrypted, and of the next one, in which
// a replica with a faster clock may be already.
func (s *TicketSecret) keys(now time.Time, fingerprint [sha256.Size]byte) [][32]byte {
	secrets := [][sha256.Size]byte{s.Current}
	if s.Previous != nil {
		secrets = append(secrets, *s.Previous)
		if now.Before(s.Began) {
			slices.Reverse(secrets)
		}
	}
	epoch := epochOf(now)
	keys := make([][32]byte, 0, len(secrets)*(ticketsKept+1))
	for _, secret := range secrets {
		for n := epoch; n > epoch-ticketsKept; n-- {
			keys = append(keys, deriveTicketKey(secret, n, fingerprint))
		}
		keys = append(keys, deriveTicketKey(secret, epoch+1, fingerprint))
	}
	return keys
}

// deriveTicketKey derives a key by HKDF (RFC 5869).
func deriveTicketKey(secret [sha256.Size]byte, epoch int64, fingerprint [sha256.Size]byte) [32]byte {
	info := binary.BigEndian.AppendUint64([]byte("sluice session tickets "), uint64(epoch))
	// It fails for keys that are longer than 255 hashes only.
	key, _ := hkdf.Key(sha256.New, secret[:], nil, string(append(info, fingerprint[:]...)), sha256.Size)
	return [32]byte(key)
}

// shorten returns the fingerprint as connections store it.
func shorten(fingerprint [sha256.Size]byte) uint64 { return binary.BigEndian.Uint64(fingerprint[:]) }
