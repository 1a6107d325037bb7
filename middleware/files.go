package middleware

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/document"
)

// lookEvery is the polling interval. A change is reported when a file is the same in two successive polls, so that a
// partly written file is not read.
const lookEvery = 2 * time.Second

// largest is the maximum size of a file in bytes. The author of a definition need not be the operator of Sluice.
const largest = 16 << 20

// stamp identifies a version of a file without reading it; the zero stamp is an unreadable file.
type stamp struct {
	size     int64
	modified time.Time
	file     fs.FileInfo
}

func stampOf(path string) stamp {
	found, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{size: found.Size(), modified: found.ModTime(), file: found}
}

func (s stamp) same(other stamp) bool {
	if s.file == nil || other.file == nil {
		return s.file == nil && other.file == nil
	}
	return s.size == other.size && s.modified.Equal(other.modified) && os.SameFile(s.file, other.file)
}

// Files watches the files that middlewares were built from, and reports changed ones, so that the middleware is
// rebuilt. It is safe for concurrent use.
type Files struct {
	mutex sync.Mutex
	// read holds the stamp before reading, by middleware and path; moved the stamp of the last poll if it differs.
	read    map[string]map[string]stamp
	moved   map[string]stamp
	stale   map[string]struct{}
	changed chan struct{}
}

// NewFiles returns an empty Files.
func NewFiles() *Files {
	return &Files{
		read: map[string]map[string]stamp{}, moved: map[string]stamp{}, stale: map[string]struct{}{},
		changed: make(chan struct{}, 1),
	}
}

// Reads are the files that one definition names, with their stamps before reading. The zero value is ready; it is not
// safe for concurrent use.
type Reads struct{ stamps map[string]stamp }

// ReadFile reads a regular file of at most 16 MiB and records it, even if it cannot be read. Named pipes and devices
// are refused, since reading one may block.
func (r *Reads) ReadFile(path string) ([]byte, error) {
	if r.stamps == nil {
		r.stamps = map[string]stamp{}
	}
	r.stamps[path] = stampOf(path)
	return document.ReadRegular(path, largest)
}

// Watch replaces the watched files of a middleware.
func (f *Files) Watch(name string, reads *Reads) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.read, name)
	delete(f.stale, name)
	if len(reads.stamps) > 0 {
		f.read[name] = maps.Clone(reads.stamps)
	}
}

// Add adds watched files of a middleware; those that are watched already stay as they are.
func (f *Files) Add(name string, reads *Reads) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for path, read := range reads.stamps {
		if f.read[name] == nil {
			f.read[name] = map[string]stamp{}
		}
		if _, watched := f.read[name][path]; !watched {
			f.read[name][path] = read
		}
	}
}

// Forget stops watching the files of a middleware.
func (f *Files) Forget(name string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.read, name)
	delete(f.stale, name)
}

// Changed returns a channel that receives a value when Stale has a result.
func (f *Files) Changed() <-chan struct{} { return f.changed }

// Stale returns the sorted names of the middlewares whose files have changed since they were read. Each change is
// returned once.
func (f *Files) Stale() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	names := slices.Sorted(maps.Keys(f.stale))
	clear(f.stale)
	return names
}

// Run polls the files until ctx ends.
func (f *Files) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look()
		}
	}
}

// paths returns every watched file once.
func (f *Files) paths() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	found := map[string]struct{}{}
	for _, files := range f.read {
		for path := range files {
			found[path] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// look finds changed files. The files are read without the lock, since a file system may hang.
func (f *Files) look() {
	now := map[string]stamp{}
	for _, path := range f.paths() {
		now[path] = stampOf(path)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	moved := map[string]stamp{}
	for name, files := range f.read {
		for path, read := range files {
			current, looked := now[path]
			if !looked || current.same(read) {
				continue
			}
			moved[path] = current
			if before, known := f.moved[path]; known && before.same(current) {
				files[path] = current
				f.stale[name] = struct{}{}
			}
		}
	}
	f.moved = moved
	if len(f.stale) > 0 {
		select {
		case f.changed <- struct{}{}:
		default:
		}
	}
}
