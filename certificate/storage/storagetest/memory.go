package storagetest

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// Memory is a storage in memory that replicas share.
type Memory struct {
	mutex    sync.Mutex
	values   map[storage.Key][]byte
	log      []storage.Change
	changed  chan struct{}
	leading  chan struct{}
	refusing error
	puts     int
}

// NewMemory returns an empty storage.
func NewMemory() *Memory {
	return &Memory{
		values: map[storage.Key][]byte{}, changed: make(chan struct{}), leading: make(chan struct{}, 1),
	}
}

// Refuse makes all writes fail with err, or succeed again with nil.
func (m *Memory) Refuse(err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.refusing = err
}

// Keys returns the keys of a kind, in order.
func (m *Memory) Keys(kind storage.Kind) []storage.Key {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var keys []storage.Key
	for key := range m.values {
		if key.Kind == kind {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b storage.Key) int {
		return bytes.Compare([]byte(a.Resolver+"\x00"+a.ID), []byte(b.Resolver+"\x00"+b.ID))
	})
	return keys
}

// Puts returns how many values were put.
func (m *Memory) Puts() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.puts
}

// Get implements storage.Reader.
func (m *Memory) Get(_ context.Context, key storage.Key) ([]byte, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	value, ok := m.values[key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return value, nil
}

// Put implements storage.Writer.
func (m *Memory) Put(_ context.Context, key storage.Key, value []byte) error {
	return m.write(key, bytes.Clone(value))
}

// Delete implements storage.Writer.
func (m *Memory) Delete(_ context.Context, key storage.Key) error { return m.write(key, nil) }

func (m *Memory) write(key storage.Key, value []byte) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.refusing != nil {
		return m.refusing
	}
	if value == nil {
		if _, known := m.values[key]; !known {
			return nil
		}
		delete(m.values, key)
	} else {
		m.values[key] = value
		m.puts++
	}
	m.log = append(m.log, storage.Change{Key: key, Value: value})
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

// Watch implements storage.Reader.
func (m *Memory) Watch(ctx context.Context, receive func([]storage.Change)) error {
	m.mutex.Lock()
	var all []storage.Change
	for key, value := range maps.Clone(m.values) {
		all = append(all, storage.Change{Key: key, Value: value})
	}
	seen, changed := len(m.log), m.changed
	m.mutex.Unlock()
	receive(all)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		m.mutex.Lock()
		news := slices.Clone(m.log[seen:])
		seen, changed = len(m.log), m.changed
		m.mutex.Unlock()
		receive(news)
	}
}

// Lead implements storage.Elector.
func (m *Memory) Lead(ctx context.Context, lead func(context.Context)) error {
	select {
	case m.leading <- struct{}{}:
		defer func() { <-m.leading }()
		lead(ctx)
	case <-ctx.Done():
	}
	<-ctx.Done()
	return nil
}
