// Package tickets shares the secret of session tickets among replicas, so that a client resumes its session whichever
// replica it reaches.
//
// The secret is one value in a storage. The elected leader writes it and replaces it every day; all replicas watch it
// and derive the keys of tickets from it (certificate.Tickets).
package tickets

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// rotation is how long a secret encrypts new tickets.
	rotation = 24 * time.Hour
	// notice is how long before its first use a secret is written, so that all replicas can decrypt with it by then.
	notice = time.Minute
	// firstPause and longestPause bound how long to wait before a storage that failed is used again.
	firstPause, longestPause = 2 * time.Second, time.Minute
)

// Sharing keeps the Tickets of this replica equal to those of the others.
type Sharing struct {
	store   storage.Store
	tickets *certificate.Tickets
	logger  telemetry.Logger
	// changed holds a value when what is stored has changed.
	changed chan struct{}
}

// New returns a Sharing that has not begun.
func New(store storage.Store, tickets *certificate.Tickets, logger telemetry.Logger) *Sharing {
	return &Sharing{store: store, tickets: tickets, logger: logger, changed: make(chan struct{}, 1)}
}

// Run follows the secret, and replaces it while this replica leads, until ctx ends.
func (s *Sharing) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() {
		s.persist(ctx, "the shared secret of session tickets cannot be read: the last one, or that of the process, is used",
			func() error { return s.store.Watch(ctx, s.receive) })
	})
	running.Go(func() {
		s.persist(ctx, "no leader can be elected that rotates the secret of session tickets",
			func() error { return s.store.Lead(ctx, s.lead) })
	})
	running.Wait()
}

// persist repeats what fails until ctx ends.
func (s *Sharing) persist(ctx context.Context, failure string, do func() error) {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		if err := do(); err != nil && ctx.Err() == nil {
			s.logger.Warn(failure, "error", err, "retryIn", pause)
		}
		wait(ctx, pause, nil)
	}
}

// wait returns when a time is over, ctx ends or something has changed.
func wait(ctx context.Context, pause time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changed:
	}
}

// key is that of the secret.
func key() storage.Key { return storage.Key{Kind: storage.KindTickets} }

// receive takes a stored secret. A damaged one changes nothing: the leader replaces it.
func (s *Sharing) receive(changes []storage.Change) {
	for _, change := range changes {
		if change.Key != key() {
			continue
		}
		select {
		case s.changed <- struct{}{}:
		default:
		}
		if change.Value == nil {
			continue
		}
		secret, err := parse(change.Value)
		if err != nil {
			s.logger.Warn("the shared secret of session tickets is damaged: the last one, or that of the process, is used",
				"error", err)
			continue
		}
		s.tickets.Share(secret)
		s.logger.Debug("session tickets have the shared secret", "since", secret.Began)
	}
}

// lead replaces the secret when that is due, until ctx ends.
func (s *Sharing) lead(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		next, err := s.rotate(ctx, time.Now())
		if err == nil {
			pause = firstPause
			wait(ctx, next, s.changed)
			continue
		}
		if ctx.Err() == nil {
			s.logger.Warn("the shared secret of session tickets is not replaced", "error", err, "retryIn", pause)
		}
		wait(ctx, pause, nil)
		pause = min(2*pause, longestPause)
	}
}

// rotate writes a new secret when that is due, and returns after what time to look again.
func (s *Sharing) rotate(ctx context.Context, now time.Time) (time.Duration, error) {
	value, err := s.store.Get(ctx, key())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("reading it: %w", err)
	}
	next := certificate.TicketSecret{Began: now}
	if present, err := parse(value); err == nil {
		// A time in the future that is too far is that of a replica whose clock is wrong.
		age := now.Sub(present.Began)
		if age < rotation && age > -rotation {
			return rotation - age, nil
		}
		next.Began, next.Previous = now.Add(notice), &present.Current
	}
	// crypto/rand.Read does not return errors.
	_, _ = rand.Read(next.Current[:])
	if err := s.store.Put(ctx, key(), format(next)); err != nil {
		return 0, fmt.Errorf("writing it: %w", err)
	}
	s.logger.Info("a new shared secret of session tickets was written", "inUseFrom", next.Began)
	return next.Began.Add(rotation).Sub(now), nil
}

// stored is the secret as JSON.
type stored struct {
	Current  []byte    `json:"current"`
	Previous []byte    `json:"previous,omitempty"`
	Began    time.Time `json:"began"`
}

// parse reads a stored secret. Its errors do not show it.
func parse(value []byte) (certificate.TicketSecret, error) {
	var s stored
	if err := json.NewDecoder(bytes.NewReader(value)).Decode(&s); err != nil {
		return certificate.TicketSecret{}, errors.New("not JSON as expected")
	}
	if len(s.Current) != sha256.Size || len(s.Previous) != sha256.Size && len(s.Previous) != 0 || s.Began.IsZero() {
		return certificate.TicketSecret{}, errors.New("a secret or the time of its beginning is missing")
	}
	secret := certificate.TicketSecret{Current: [sha256.Size]byte(s.Current), Began: s.Began}
	if len(s.Previous) > 0 {
		secret.Previous = new([sha256.Size]byte(s.Previous))
	}
	return secret, nil
}

func format(secret certificate.TicketSecret) []byte {
	s := stored{Current: secret.Current[:], Began: secret.Began.UTC().Truncate(time.Second)}
	if secret.Previous != nil {
		s.Previous = secret.Previous[:]
	}
	value, _ := json.Marshal(s) // Bytes and a time can always be written.
	return value
}
