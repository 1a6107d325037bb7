// Package file keeps accounts and certificates in a file of the format of Traefik's acme.json, so that Traefik's file
// can be used as it is, and Traefik can use it again afterwards.
//
// Everything else is in a second file beside it, FILE.state. Both have mode 0600, are replaced atomically, and may be
// used by several processes of a machine: FILE.lock serializes their writes, and who holds FILE.leader leads.
package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// pollInterval is how often the files are compared with what was read last.
	pollInterval = 500 * time.Millisecond
	// electionInterval is how often a process that does not lead tries to.
	electionInterval = time.Second
	stateSuffix      = ".state"
	lockSuffix       = ".lock"
	leaderSuffix     = ".leader"
)

// Store is a storage.Store in files.
type Store struct {
	path   string
	logger telemetry.Logger

	mutex sync.Mutex
	// read are the versions of the files that doc and state are of, settled says that no later write has the same time.
	read    [2]version
	settled bool
	doc     document
	state   map[storage.Key][]byte
	// values are those of doc and state.
	values   map[storage.Key][]byte
	inPlace  bool
	changed  chan struct{}
	unlocked bool
}

// New returns a storage in the file at a path, which need not exist.
func New(path string, logger telemetry.Logger) *Store {
	return &Store{path: path, logger: logger, changed: make(chan struct{})}
}

// Watch implements storage.Reader.
func (s *Store) Watch(ctx context.Context, receive func([]storage.Change)) error {
	var sent map[storage.Key][]byte
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		s.mutex.Lock()
		err := s.load()
		values, changed := s.values, s.changed
		s.mutex.Unlock()
		if err != nil {
			return err
		}
		if changes := difference(sent, values); sent == nil || len(changes) > 0 {
			receive(changes)
			sent = values
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
		}
	}
}

// difference returns what has changed from one state to another, in the order of the keys.
func difference(before, after map[storage.Key][]byte) []storage.Change {
	var changes []storage.Change
	for key, value := range after {
		if old, known := before[key]; !known || !bytes.Equal(old, value) {
			changes = append(changes, storage.Change{Key: key, Value: value})
		}
	}
	for key := range before {
		if _, kept := after[key]; !kept {
			changes = append(changes, storage.Change{Key: key})
		}
	}
	slices.SortFunc(changes, func(a, b storage.Change) int { return compareKeys(a.Key, b.Key) })
	return changes
}

// Get implements storage.Reader.
func (s *Store) Get(_ context.Context, key storage.Key) ([]byte, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := s.load(); err != nil {
		return nil, err
	}
	value, known := s.values[key]
	if !known {
		return nil, fs.ErrNotExist
	}
	return value, nil
}

// Put implements storage.Writer.
func (s *Store) Put(_ context.Context, key storage.Key, value []byte) error {
	return s.write(key, bytes.Clone(value))
}

// Delete implements storage.Writer.
func (s *Store) Delete(_ context.Context, key storage.Key) error { return s.write(key, nil) }

// write sets or deletes a value in the newest version of the files.
func (s *Store) write(key storage.Key, value []byte) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.load(); err != nil {
		return err
	}
	if old, known := s.values[key]; known == (value != nil) && bytes.Equal(old, value) {
		return nil
	}
	path, text, err := s.format(key, value)
	if err == nil {
		err = s.replace(path, text)
	}
	if err != nil {
		s.values = nil // The files are read again, since doc has changed.
		return err
	}
	return s.apply(key, value)
}

// format returns the file that changes with a value, and its new contents.
func (s *Store) format(key storage.Key, value []byte) (path string, text []byte, err error) {
	if key.Kind == storage.KindAccount || key.Kind == storage.KindCertificate {
		if err := s.doc.set(key, value); err != nil {
			return "", nil, fmt.Errorf("%s: %w", s.path, err)
		}
		text, err = s.doc.format()
		return s.path, text, err
	}
	next := maps.Clone(s.state)
	next[key] = value
	if value == nil {
		delete(next, key)
	}
	text, err = formatState(next)
	return s.path + stateSuffix, text, err
}

// apply takes a value that was written to the files, and wakes those that watch.
func (s *Store) apply(key storage.Key, value []byte) error {
	s.values = maps.Clone(s.values)
	s.state = maps.Clone(s.state)
	isState := key.Kind != storage.KindAccount && key.Kind != storage.KindCertificate
	if value == nil {
		delete(s.values, key)
		delete(s.state, key)
	} else {
		s.values[key] = value
		if isState {
			s.state[key] = value
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
	read, _, err := s.versions()
	s.read, s.settled = read, true
	return err
}

// versions returns those of both files, and whether no later write has the same time.
func (s *Store) versions() (read [2]version, settled bool, err error) {
	for i, path := range []string{s.path, s.path + stateSuffix} {
		if read[i], err = stat(path); err != nil {
			return read, false, err
		}
	}
	old := time.Now().Add(-settledAfter)
	return read, read[0].modified.Before(old) && read[1].modified.Before(old), nil
}

// load reads the files, unless they have not changed since they were read.
func (s *Store) load() error {
	now, settled, err := s.versions()
	if err != nil {
		return err
	}
	if s.values != nil && s.read == now && s.settled {
		return nil
	}
	text, err := readFile(s.path)
	if err != nil {
		return err
	}
	doc, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w; restore it, or remove it to begin anew", s.path, err)
	}
	values, err := doc.values()
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	if text, err = readFile(s.path + stateSuffix); err != nil {
		return err
	}
	state, err := parseState(text)
	if err != nil {
		return fmt.Errorf("%s: %w; restore it, or remove it to begin anew", s.path+stateSuffix, err)
	}
	maps.Copy(values, state)
	s.doc, s.state, s.values, s.read, s.settled = doc, state, values, now, settled
	return nil
}

// stored is a value in the second file.
type stored struct {
	Kind     storage.Kind    `json:"kind"`
	Resolver string          `json:"resolver,omitempty"`
	ID       string          `json:"id,omitempty"`
	Value    json.RawMessage `json:"value"`
}

func parseState(text []byte) (map[storage.Key][]byte, error) {
	values := map[storage.Key][]byte{}
	if len(bytes.TrimSpace(text)) == 0 {
		return values, nil
	}
	var list []stored
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	for _, one := range list {
		values[storage.Key{Kind: one.Kind, Resolver: one.Resolver, ID: one.ID}] = one.Value
	}
	return values, nil
}

func formatState(values map[storage.Key][]byte) ([]byte, error) {
	list := []stored{}
	for _, key := range slices.SortedFunc(maps.Keys(values), compareKeys) {
		if !json.Valid(values[key]) {
			return nil, errors.New("the value is not JSON")
		}
		list = append(list, stored{key.Kind, key.Resolver, key.ID, values[key]})
	}
	return json.Marshal(list)
}

// Lead implements storage.Elector: who has locked FILE.leader leads.
func (s *Store) Lead(ctx context.Context, lead func(context.Context)) error {
	ticker := time.NewTicker(electionInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		file, err := os.OpenFile(s.path+leaderSuffix, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			s.logger.Warn("another process could order certificates too: the file of the leader cannot be opened",
				"error", err)
			lead(ctx)
			return nil
		}
		if locked := tryLock(file); locked {
			lead(ctx)
			_ = file.Close()
			return nil
		}
		_ = file.Close()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return nil
}
