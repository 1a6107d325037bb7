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

// lookEvery is how often files are looked at. A change is reported when a file has stood still from one look to the
// next, so that no half-written file is read.
const lookEvery = 2 * time.Second

// largest bounds a file, in bytes. The author of a definition need not be the operator of Sluice.
const largest = 16 << 20

// stamp identifies one state of a file without reading it. One that can't be looked at has the zero stamp.
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

// Files watches the files that middlewares were made of, and reports those that have changed, so that the middleware
// is built anew. It is safe for concurrent use.
type Files struct {
	mutex sync.Mutex
	// read holds, by the name of a middleware and the path, how a file stood right before it was read, and moved how
	// it stood at the last look if that is another state.
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

// Reads are the files that one definition names, each with its state right before it was read. The zero value is
// ready for use by one goroutine.
type Reads struct{ stamps map[string]stamp }

// ReadFile reads a regular file of at most 16 MiB, and remembers it, also when it can't be read. Named pipes and
// devices are refused, since reading one may block.
func (r *Reads) ReadFile(path string) ([]byte, error) {
	if r.stamps == nil {
		r.stamps = map[string]stamp{}
	}
	r.stamps[path] = stampOf(path)
	return document.ReadRegular(path, largest)
}

// Watch looks at the files that the middleware of a name was made of from now on, instead of those that it was made
// of before.
func (f *Files) Watch(name string, reads *Reads) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.read, name)
	delete(f.stale, name)
	if len(reads.stamps) > 0 {
		f.read[name] = maps.Clone(reads.stamps)
	}
}

// Forget ends the watch over the files of a middleware.
func (f *Files) Forget(name string) {
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

// look notes whose files have changed and stand still. The files are looked at without the lock, since a file system
// may hang.
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
