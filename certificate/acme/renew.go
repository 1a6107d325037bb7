package acme

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// ErrNoCertificate says that a resolver has neither a certificate for a name nor an order for it that has failed.
var ErrNoCertificate = errors.New("there is neither a certificate nor a failed order")

// renewedSince is how long ago the time of a renewal on request is, so that clocks may differ.
const renewedSince = time.Minute

// Renewal is what RenewNow has made due.
type Renewal struct {
	// Names are those of the certificate, the main one first.
	Names []string
	// NotAfter is the end of the present certificate; it is zero without one.
	NotAfter time.Time
	// Earliest is when the order may be made: in the future while all orders of the resolver wait since the authority
	// fails, and where the limit for certificates with the same names is reached.
	Earliest time.Time
}

// RenewNow writes to the storage of a resolver that the certificate which covers a name is due. If only orders for the
// name have failed, the next attempt is due. The leader, which watches the storage, orders it if a router needs it.
// The error is ErrNoCertificate if the resolver knows nothing of the name.
func RenewNow(ctx context.Context, store storage.Store, resolver, name string) (Renewal, error) {
	name, err := normalizeName(name)
	if err != nil {
		return Renewal{}, err
	}
	values, err := storage.Snapshot(ctx, store)
	if err != nil {
		return Renewal{}, err
	}
	mirror := mirrorOf(values, resolver)
	now := time.Now()
	id, next, present := mirror.due(name, now)
	if id == "" {
		return Renewal{}, ErrNoCertificate
	}
	key := storage.Key{Kind: storage.KindSchedule, Resolver: resolver, ID: id}
	text, err := json.Marshal(next)
	if err == nil {
		err = store.Put(ctx, key, text)
	}
	if err != nil {
		return Renewal{}, fmt.Errorf("the schedule of %s cannot be written: %w", next.Names[0], err)
	}
	renewal := Renewal{Names: next.Names, Earliest: next.earliest(now, present)}
	if present != nil {
		renewal.NotAfter = present.leaf.NotAfter
	}
	if own := mirror.schedule(resolverSchedule); own.Failures > 0 && own.Next.After(renewal.Earliest) {
		renewal.Earliest = own.Next
	}
	return renewal, nil
}

// due returns the schedule by which the certificate for a name is due, with its ID, and the present certificate if
// there is one. The ID is empty if nothing is known of the name.
func (s *state) due(name string, now time.Time) (id string, next schedule, present *issuedCertificate) {
	if present = s.covering(name); present != nil {
		next = s.schedule(present.id)
		next.Names, next.Serial, next.Renew = present.names, serialOf(present.leaf), now.Add(-renewedSince).Round(0)
		next.Recheck = now.Add(defaultRecheck).Round(0) // The suggestion of the authority would replace the time.
		id = present.id
	} else {
		for _, one := range s.scheduleIDs() {
			stored := s.schedule(one)
			if stored.Failures > 0 && slices.ContainsFunc(stored.Names, func(n string) bool { return coversName(n, name) }) {
				id, next = one, stored
				break
			}
		}
	}
	next.Failures, next.Next, next.Last = 0, time.Time{}, nil
	return id, next, present
}

// covering returns the certificate for exactly a name, or the one of those that cover it which ends last.
func (s *state) covering(name string) *issuedCertificate {
	var best *issuedCertificate
	for _, c := range s.list() {
		switch {
		case c.id == storage.CertificateID([]string{name}):
			return c
		case slices.ContainsFunc(c.names, func(n string) bool { return coversName(n, name) }) &&
			(best == nil || c.leaf.NotAfter.After(best.leaf.NotAfter)):
			best = c
		}
	}
	return best
}

// mirrorOf returns the state of a resolver from the values of a storage.
func mirrorOf(values map[storage.Key][]byte, resolver string) *state {
	var own []storage.Change
	for key, value := range values {
		if key.Resolver == resolver {
			own = append(own, storage.Change{Key: key, Value: value})
		}
	}
	s := newState()
	s.load(own)
	return s
}
