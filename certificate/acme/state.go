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

// held is a certificate that the resolver has. It is immutable.
type held struct {
	id     string
	names  []string
	record storage.Certificate
	// leaf has only what summary takes over.
	leaf *x509.Certificate
	// revision identifies the contents.
	revision uint64
}

// hold reads a stored certificate. Whether the key belongs to it is checked where it is loaded for handshakes.
func hold(id string, record storage.Certificate) (*held, error) {
	block, _ := pem.Decode([]byte(record.Chain))
	if block == nil {
		return nil, fmt.Errorf("the stored certificate for %s cannot be used: it is not PEM", record.Main)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the stored certificate for %s cannot be used: %w", record.Main, err)
	}
	names, _ := normalizeNames(record.Names())
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(record.Chain))
	_, _ = hash.Write([]byte(record.Key))
	return &held{id: id, names: names, record: record, leaf: summary(leaf), revision: max(hash.Sum64(), 1)}, nil
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
	certificates map[string]*held
	orders       map[string]openOrder
	schedules    map[string]schedule
	challenges   map[string]*presented
	demands      map[string]demand
	// written holds the values that are being written, or were and have not been seen from the storage yet.
	written map[storage.Key][]byte
	// unsaved are certificates that the storage has refused.
	unsaved map[string]storage.Certificate
	faults  map[string]string
	version uint64
}

func newState() *state {
	return &state{
		certificates: map[string]*held{}, orders: map[string]openOrder{}, schedules: map[string]schedule{},
		challenges: map[string]*presented{}, demands: map[string]demand{}, written: map[storage.Key][]byte{},
		unsaved: map[string]storage.Certificate{}, faults: map[string]string{},
	}
}

// load takes everything that the storage has.
func (s *state) load(all []storage.Change) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.account = nil
	clear(s.certificates)
	clear(s.orders)
	clear(s.schedules)
	clear(s.challenges)
	clear(s.demands)
	clear(s.written)
	clear(s.faults)
	for id, record := range s.unsaved {
		if c, err := hold(id, record); err == nil {
			s.certificates[id] = c
		}
	}
	for _, change := range all {
		s.apply(change.Key, change.Value)
	}
	s.loaded = true
}

// receive takes changes of the storage.
func (s *state) receive(changes []storage.Change) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, change := range changes {
		if own, waiting := s.written[change.Key]; waiting {
			if bytes.Equal(own, change.Value) {
				delete(s.written, change.Key)
			}
			continue // What was written later counts.
		}
		s.apply(change.Key, change.Value)
	}
}

// write applies a value while store writes it to the storage. Until the storage shows it, what the storage shows of
// the key is older. Without success the value before counts again, once the storage has been read anew.
func (s *state) write(key storage.Key, value []byte, store func() error) error {
	s.mutex.Lock()
	s.written[key] = value
	s.mutex.Unlock()
	err := store()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err != nil {
		delete(s.written, key)
		return err
	}
	s.apply(key, value)
	return nil
}

// apply sets a value, or deletes it where it is nil. Values that cannot be read leave the last one.
func (s *state) apply(key storage.Key, value []byte) {
	s.version++
	switch key.Kind {
	case storage.KindAccount:
		if s.account = nil; value != nil {
			s.account, _ = decode[*storage.Account](value)
		}
	case storage.KindCertificate:
		delete(s.unsaved, key.ID)
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

// applyCertificate sets a certificate. An unusable one is a fault and does not replace the last one.
func (s *state) applyCertificate(id string, value []byte) {
	delete(s.faults, id)
	if value == nil {
		delete(s.certificates, id)
		return
	}
	record, err := decode[storage.Certificate](value)
	if err == nil {
		var c *held
		if c, err = hold(id, record); err == nil {
			s.certificates[id] = c
			return
		}
	}
	s.faults[id] = err.Error()
}

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
	s.version++
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
	s.unsaved[id] = record
	s.version++
	if c, err := hold(id, record); err == nil {
		s.certificates[id] = c
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

// demanded reports whether clients have asked for a name that was allowed.
func (s *state) demanded(name string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, ok := s.demands[name]
	return ok
}

// find returns a certificate that covers a name at a time.
func (s *state) find(name string, now time.Time) *held {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if c := s.certificates[storage.CertificateID([]string{name})]; c != nil && now.Before(c.leaf.NotAfter) {
		return c
	}
	for _, id := range sortedKeys(s.certificates) {
		c := s.certificates[id]
		if now.Before(c.leaf.NotAfter) && slices.ContainsFunc(c.names, func(n string) bool { return coversName(n, name) }) {
			return c
		}
	}
	return nil
}

// list returns the certificates, in order of their names.
func (s *state) list() []*held {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.SortedFunc(maps.Values(s.certificates), func(a, b *held) int { return slices.Compare(a.names, b.names) })
}
