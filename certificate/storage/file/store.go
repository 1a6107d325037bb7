// Package file keeps certificates in a file, in the format of Traefik's acme.json.
//
// Accounts and certificates are in that file, so that Traefik can be replaced by Sluice and the other way round; what
// Traefik adds to it and Sluice does not know is kept. Orders, challenges and all other values are in a second file
// beside it, PATH.state. Several processes on one machine may use the same files: they change them under a lock on
// PATH.lock, and elect a leader by one on PATH.leader.
//
// Files are replaced atomically and have mode 0600. A file that is damaged, or that others may read, is an error of all
// methods and is never overwritten.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/lease"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// timeout bounds one operation, most of which is waiting for other processes.
	timeout = 10 * time.Second
	// pollInterval is how often the files are looked at for changes by other processes.
	pollInterval = 500 * time.Millisecond
	// settleTime is how long a change by this process waits for others, before the files are read again.
	settleTime = 20 * time.Millisecond
	// grace is how long a file may be unreadable after it was readable, while a program rewrites it that is not Sluice.
	grace = 2 * time.Second
)

// Suffixes of the files beside acme.json.
const (
	suffixState  = ".state"
	suffixLock   = ".lock"
	suffixLeader = ".leader"
	suffixNew    = ".new"
	suffixCopy   = ".backup"
)

// Store is a storage.Store on files. It holds no resources between calls.
type Store struct {
	path   string
	logger telemetry.Logger
	// inPlace says that a file can't be replaced, which is known after the first attempt.
	inPlace atomic.Bool
	rename  func(from, to string) error
	// writing is full while a goroutine of this process has, or waits for, the lock.
	writing chan struct{}

	mu       sync.Mutex
	watchers map[chan struct{}]struct{}
}

// Open returns the store of the file at path. It opens nothing: a missing file has no values and is created by the
// first Put, while its folder must exist.
func Open(path string, logger telemetry.Logger) *Store {
	return &Store{
		path: path, logger: logger, rename: os.Rename,
		writing: make(chan struct{}, 1), watchers: map[chan struct{}]struct{}{},
	}
}

// content is what a file holds.
type content interface {
	values() (map[storage.Key][]byte, error)
	put(key storage.Key, value []byte) error
	remove(key storage.Key) (bool, error)
	format() ([]byte, error)
}

// pathOf returns the file that has values of a kind.
func (s *Store) pathOf(kind storage.Kind) string {
	if kind == storage.KindAccount || kind == storage.KindCertificate {
		return s.path
	}
	return s.path + suffixState
}

// load reads one of the two files. The error names it.
func (s *Store) load(path string) (content, map[storage.Key][]byte, error) {
	text, err := read(path)
	if err != nil {
		return nil, nil, err
	}
	var c content
	if path == s.path {
		c, err = parseACME(text)
	} else {
		c, err = parseState(text)
	}
	var values map[storage.Key][]byte
	if err == nil {
		values, err = c.values()
	}
	if err != nil {
		return nil, nil, s.damaged(path, err)
	}
	return c, values, nil
}

// damaged names the file in an error, and the copy that exists if it was written in place.
func (s *Store) damaged(path string, err error) error {
	if _, missing := os.Stat(path + suffixCopy); missing == nil {
		return fmt.Errorf("%s %w (%s is what it was before it was last written)", path, err, path+suffixCopy)
	}
	return fmt.Errorf("%s %w", path, err)
}

// read returns the text of a file, which is empty if there is none.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o, with which others may use its private keys: chmod 600 %s", path, mode, path)
	}
	text, err := os.ReadFile(path) //nolint:gosec // The path is an option.
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Get reads a value from its file.
func (s *Store) Get(ctx context.Context, key storage.Key) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	values, err := s.all(ctx, s.pathOf(key.Kind))
	if err != nil {
		return nil, err
	}
	value, ok := values[key]
	if !ok {
		return nil, fmt.Errorf("%s: %s: %w", s.path, key.Kind, fs.ErrNotExist)
	}
	return value, nil
}

// all returns the values of files, which no other process writes meanwhile.
func (s *Store) all(ctx context.Context, paths ...string) (map[storage.Key][]byte, error) {
	unlock, err := lock(ctx, s.path+suffixLock, false)
	if err != nil {
		return nil, err
	}
	defer unlock()
	values := map[storage.Key][]byte{}
	for _, path := range paths {
		_, part, err := s.load(path)
		if err != nil {
			return nil, err
		}
		maps.Copy(values, part)
	}
	return values, nil
}

// Put sets a value. A certificate must have its ID and not be empty, and the key of an account be one that Go can read;
// Traefik can read RSA only.
func (s *Store) Put(ctx context.Context, key storage.Key, value []byte) error {
	return s.change(ctx, key.Kind, func(c content) (bool, error) { return true, c.put(key, value) })
}

// Delete deletes a value.
func (s *Store) Delete(ctx context.Context, key storage.Key) error {
	return s.change(ctx, key.Kind, func(c content) (bool, error) { return c.remove(key) })
}

// change edits the file of a kind under the lock, and writes it if edit reports a change.
func (s *Store) change(ctx context.Context, kind storage.Kind, edit func(content) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%s: waiting for other changes: %w", s.path, context.Cause(ctx))
	}
	defer func() { <-s.writing }()
	unlock, err := lock(ctx, s.path+suffixLock, true)
	if err != nil {
		return err
	}
	defer unlock()
	path := s.pathOf(kind)
	c, _, err := s.load(path)
	if err != nil {
		return err
	}
	changed, err := edit(c)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !changed {
		return nil
	}
	text, err := c.format()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := s.write(path, text); err != nil {
		return err
	}
	s.notify()
	return nil
}

// Lead elects one of the processes on this machine. A leader that dies is replaced within 2 s.
func (s *Store) Lead(ctx context.Context, lead func(ctx context.Context)) error {
	return lease.Lead(ctx, &leader{path: s.path + suffixLeader}, s.logger, lead)
}
