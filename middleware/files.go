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

// lookEvery is how often files are looked at. A change is told when a file has stood still from one look to the next, so that nobody
// reads half of what somebody is writing.
const lookEvery = 2 * time.Second

// largest bounds a file, in bytes. Who names one need not be who runs Sluice.
const largest = 16 << 20

// stamp tells one state of a file from the next without reading it. One that can't be looked at has the zero stamp.
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

// Files reads the files that definitions name, and tells when one has changed, so that the middleware is built anew. It is safe for
// concurrent use.
type Files struct {
	mutex sync.Mutex
	// read holds, by the name of a middleware and the path, how a file stood right before it was read, and moved how it stood at the
	// last look if that is another state.
	read    map[string]map[string]stamp
	moved   map[string]stamp
	stale   map[string]struct{}
	changed chan struct{}
}

// NewFiles returns files that nobody has read yet.
func NewFiles() *Files {
	return &Files{
		read: map[string]map[string]stamp{}, moved: map[string]stamp{}, stale: map[string]struct{}{}, changed: make(chan struct{}, 1),
	}
}

// reader returns how the middleware of a name reads files, which are regular ones of at most 16 MiB: neither a named pipe nor a device
// can keep the compiler. What the middleware read before is forgotten. A file that can't be read is watched, too.
func (f *Files) reader(name string) func(path string) ([]byte, error) {
	f.forget(name)
	return func(path string) ([]byte, error) {
		before := stampOf(path)
		f.mutex.Lock()
		if f.read[name] == nil {
			f.read[name] = map[string]stamp{}
		}
		f.read[name][path] = before
		f.mutex.Unlock()
		return document.ReadRegular(path, largest)
	}
}

// forget stops to watch what the middleware of a name has read.
func (f *Files) forget(name string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.read, name)
	delete(f.stale, name)
}

// Changed returns a channel that holds a value when Stale has something to say.
func (f *Files) Changed() <-chan struct{} { return f.changed }

// Stale returns the names of the middlewares whose files have changed since they were read, in order, once.
func (f *Files) Stale() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	names := slices.Sorted(maps.Keys(f.stale))
	clear(f.stale)
	return names
}

// Run looks at the files until ctx ends.
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

// paths returns every file that is watched, once.
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

// look notes whose files have changed and stand still. The files are looked at without the lock, since a file system may hang.
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
