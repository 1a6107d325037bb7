package acme

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"hash/fnv"
	"maps"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// issuedCertificate is a certificate that the resolver has. It is immutable.
type issuedCertificate struct {
	id     string
	names  []string
	record storage.Certificate
	// leaf has only what summary takes over.
	leaf *x509.Certificate
	// revision identifies the contents.
	revision uint64
}

// readCertificate reads a stored certificate. Whether the key belongs to it is checked where it is loaded for
// handshakes.
func readCertificate(id string, record storage.Certificate) (*issuedCertificate, error) {
	block, _ := pem.Decode([]byte(record.Chain))
	if block == nil {
		return nil, fmt.Errorf("the stored certificate for %s cannot be used: it is not PEM", record.Main)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the stored certificate for %s cannot be used: %w", record.Main, err)
	}
	names, _ := normalizeNames(record.Names())
	if len(names) == 0 { // A file of Traefik may have such a certificate of a private authority.
		names = record.Names()
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(record.Chain))
	_, _ = hash.Write([]byte(record.Key))
	return &issuedCertificate{
		id: id, names: names, record: record, leaf: summary(leaf), revision: max(hash.Sum64(), 1),
	}, nil
}

// summary returns a certificate with what schedules need of it; the whole is in memory once, for handshakes.
func summary(leaf *x509.Certificate) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: new(big.Int).Set(leaf.SerialNumber), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		AuthorityKeyId: slices.Clone(leaf.AuthorityKeyId),
	}
}

// demand is a name that clients have asked for.
type demand struct {
	Time time.Time `json:"time"`
}

// state mirrors what the storage has of one resolver. What this replica has written counts at once, until the storage
// says the same.
type state struct {
	mutex        sync.Mutex
	loaded       bool
	account      *storage.Account
	certificates map[string]*issuedCertificate
	orders       map[string]openOrder
	schedules    map[string]schedule
	challenges   map[string]*presented
	demands      map[string]demand
	pending      map[storage.Key]*pending
	// unsaved are certificates that the storage has refused or lost.
	unsaved map[string]storage.Certificate
	// byName are the certificates by their names, nil if it has to be made anew.
	byName map[string][]*issuedCertificate
}

func newState() *state {
	return &state{
		certificates: map[string]*issuedCertificate{}, orders: map[string]openOrder{}, schedules: map[string]schedule{},
		challenges: map[string]*presented{}, demands: map[string]demand{}, pending: map[storage.Key]*pending{},
		unsaved: map[string]storage.Certificate{},
	}
}

// load takes everything that the storage has. Valid certificates that it has lost are kept, and written again by the
// leader.
func (s *state) load(all []storage.Change) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	stored := map[string]bool{}
	for _, change := range all {
		if change.Key.Kind == storage.KindCertificate {
			stored[change.Key.ID] = true
		}
	}
	for id, c := range s.certificates {
		if !stored[id] {
			s.keepLost(c)
		}
	}
	s.account = nil
	clear(s.certificates)
	clear(s.orders)
	clear(s.schedules)
	clear(s.challenges)
	clear(s.demands)
	clear(s.pending)
	for id, record := range s.unsaved {
		if c, err := readCertificate(id, record); err == nil {
			s.certificates[id] = c
		}
	}
	for _, change := range all {
		s.apply(change.Key, change.Value)
	}
	s.changed()
	s.loaded = true
}

// isValid reports whether there is a certificate that has not ended.
func (s *state) isValid(id string) bool {
	c := s.certificates[id]
	return c != nil && time.Now().Before(c.leaf.NotAfter)
}

// keepLost keeps a valid certificate that the storage has lost, as one that is to be written again.
func (s *state) keepLost(c *issuedCertificate) {
	if time.Now().Before(c.leaf.NotAfter) {
		s.unsaved[c.id] = c.record
	}
}

// receive takes changes of the storage. Until the storage shows a value that is being written, or for echoLife after,
// what it shows of the key may be older, and is applied later.
func (s *state) receive(changes []storage.Change) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, change := range changes {
		if p := s.pending[change.Key]; p != nil {
			p.seen, p.isSeen = change.Value, true
			p.isEchoed = p.isEchoed || bytes.Equal(p.value, change.Value)
			if p.isEchoed && p.isStored {
				delete(s.pending, change.Key)
				s.apply(change.Key, change.Value)
			}
			continue
		}
		if change.Key.Kind == storage.KindCertificate && change.Value == nil && s.isValid(change.Key.ID) {
			s.keepLost(s.certificates[change.Key.ID])
			continue
		}
		s.apply(change.Key, change.Value)
	}
}

// echoLife is how long the storage may show older values of a key after a newer one was written.
const echoLife = 2 * time.Second

// pending is a value that is being written, or was and has not been seen from the storage yet.
type pending struct {
	value []byte
	// isStored says that the storage has accepted it, isEchoed that it has shown it.
	isStored, isEchoed bool
	// seen is what the storage has shown last.
	seen   []byte
	isSeen bool
}

// write applies a value while store writes it to the storage.
func (s *state) write(key storage.Key, value []byte, store func() error) error {
	p := &pending{value: value}
	s.mutex.Lock()
	s.pending[key] = p
	s.mutex.Unlock()
	err := store()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	current := s.pending[key] == p
	switch {
	case err != nil || p.isEchoed:
		if current {
			delete(s.pending, key)
		}
		if p.isSeen {
			s.apply(key, p.seen)
		}
	default:
		p.isStored = true
		s.apply(key, value)
		time.AfterFunc(echoLife, func() { s.settle(key, p) })
	}
	return err
}

// settle applies what the storage has shown beside a value that it has not shown.
func (s *state) settle(key storage.Key, p *pending) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.pending[key] != p {
		return
	}
	delete(s.pending, key)
	if p.isSeen {
		s.apply(key, p.seen)
	}
}

// apply sets a value, or deletes it where it is nil. Values that cannot be read leave the last one.
func (s *state) apply(key storage.Key, value []byte) {
	switch key.Kind {
	case storage.KindAccount:
		if s.account = nil; value != nil {
			s.account, _ = decode[*storage.Account](value)
		}
	case storage.KindCertificate:
		s.applyCertificate(key.ID, value)
	case storage.KindOrder:
		set(s.orders, key.ID, value)
	case storage.KindSchedule:
		set(s.schedules, key.ID, value)
	case storage.KindDemand:
		set(s.demands, key.ID, value)
	case storage.KindChallenge:
		if delete(s.challenges, key.ID); value != nil {
			if read, err := decode[*presented](value); err == nil {
				s.challenges[key.ID] = read
			}
		}
	}
}

// applyCertificate sets a certificate. One that cannot be read does not replace the last one, and neither does one
// that ends earlier than an unsaved one.
func (s *state) applyCertificate(id string, value []byte) {
	s.changed()
	if value == nil {
		delete(s.certificates, id)
		delete(s.unsaved, id)
		return
	}
	record, err := decode[storage.Certificate](value)
	if err != nil {
		return
	}
	c, err := readCertificate(id, record)
	if err != nil {
		return
	}
	if _, unsaved := s.unsaved[id]; unsaved && c.leaf.NotAfter.Before(s.certificates[id].leaf.NotAfter) {
		return
	}
	s.certificates[id] = c
	delete(s.unsaved, id)
}

// changed says that the certificates are others.
func (s *state) changed() { s.byName = nil }

func decode[T any](value []byte) (T, error) {
	var out T
	err := json.Unmarshal(value, &out)
	return out, err
}

// set sets a value of a map, or deletes it where it is nil.
func set[T any](values map[string]T, id string, value []byte) {
	if value == nil {
		delete(values, id)
		return
	}
	if read, err := decode[T](value); err == nil {
		values[id] = read
	}
}

func (s *state) storedAccount() *storage.Account {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.account
}

// certificate returns the certificate with an ID, valid or not, or nil.
func (s *state) certificate(id string) *issuedCertificate {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.certificates[id]
}

func (s *state) order(id string) (openOrder, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found, ok := s.orders[id]
	return found, ok
}

func (s *state) schedule(id string) schedule {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.schedules[id]
}

// keepSchedule sets a schedule that the storage has refused.
func (s *state) keepSchedule(id string, next schedule) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.schedules[id] = next
}

// scheduleIDs returns the IDs of the schedules, in order.
func (s *state) scheduleIDs() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return sortedKeys(s.schedules)
}

// keepCertificate sets a certificate that the storage has refused.
func (s *state) keepCertificate(id string, record storage.Certificate) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.changed()
	if c, err := readCertificate(id, record); err == nil {
		s.certificates[id], s.unsaved[id] = c, record
	}
}

// unsavedCertificates returns the certificates that the storage has refused, by ID.
func (s *state) unsavedCertificates() map[string]storage.Certificate {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.unsaved)
}

func (s *state) challenge(id string) (*presented, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found, ok := s.challenges[id]
	return found, ok
}

// presentedSince returns when each challenge was presented, by ID.
func (s *state) presentedSince() map[string]time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	since := make(map[string]time.Time, len(s.challenges))
	for id, one := range s.challenges {
		since[id] = one.Created
	}
	return since
}

// demanded reports whether clients have asked for a name that was allowed.
func (s *state) demanded(name string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, ok := s.demands[name]
	return ok
}

// find returns a certificate that covers a name at a time.
func (s *state) find(name string, now time.Time) *issuedCertificate {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.byName == nil {
		s.byName = map[string][]*issuedCertificate{}
		for _, c := range s.certificates {
			for _, own := range c.names {
				s.byName[own] = append(s.byName[own], c)
			}
		}
	}
	for _, key := range []string{name, wildcardOf(name)} {
		for _, c := range s.byName[key] {
			if now.Before(c.leaf.NotAfter) {
				return c
			}
		}
	}
	return nil
}

// openOrders returns the open orders, by ID.
func (s *state) openOrders() map[string]openOrder {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.orders)
}

// demandNames returns the names that clients have asked for, in order.
func (s *state) demandNames() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return sortedKeys(s.demands)
}

// list returns the certificates, in order of their names.
func (s *state) list() []*issuedCertificate {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.SortedFunc(maps.Values(s.certificates), func(a, b *issuedCertificate) int {
		return slices.Compare(a.names, b.names)
	})
}
