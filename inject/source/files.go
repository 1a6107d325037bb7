package source

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/telemetry"
)

// maxFile is the size of the largest file, in bytes.
const maxFile = 4 << 20

// attempts is how often files are loaded that change meanwhile.
const attempts = 3

// Files are a file or the files of a directory. A mounted ConfigMap is one: its files are links that are replaced
// together.
type Files[T any] struct {
	path   string
	load   func(path string) (T, error)
	logger telemetry.Logger
	digest [sha256.Size]byte
	read   bool
}

// NewFiles returns the configuration at a path, which load reads.
func NewFiles[T any](path string, load func(path string) (T, error), logger telemetry.Logger) *Files[T] {
	return &Files[T]{path: path, load: load, logger: logger}
}

// Read loads the configuration if a file has changed. Files that change again and again while they are read are left
// for the next call: changed is false then. It is called by one goroutine at a time.
func (f *Files[T]) Read() (configuration T, changed bool, err error) {
	digest, err := digestOf(f.path)
	if err != nil {
		f.read = false
		return configuration, false, err
	}
	if f.read && digest == f.digest {
		return configuration, false, nil
	}
	for range attempts {
		configuration, err = f.load(f.path)
		again, digestErr := digestOf(f.path)
		switch {
		case digestErr != nil:
			f.read = false
			var none T
			return none, false, digestErr
		case again != digest: // Files were replaced meanwhile: what was read may be of two generations.
			digest = again
			continue
		case err != nil:
			return configuration, false, err
		}
		f.digest, f.read = digest, true
		return configuration, true, nil
	}
	f.read = false
	var none T
	return none, false, nil
}

// digestOf returns a digest of the content of a file, or of the files in a directory whose names do not begin with a
// dot.
func digestOf(path string) (digest [sha256.Size]byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return digest, err
	}
	files := []string{path}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return digest, err
		}
		files = nil
		for _, entry := range entries {
			file := filepath.Join(path, entry.Name())
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
				files = append(files, file)
			}
		}
	}
	sum := sha256.New()
	for _, file := range files {
		content, err := document.ReadRegular(file, maxFile)
		if err != nil {
			return digest, err
		}
		_, _ = fmt.Fprintf(sum, "%q %d\n", file, len(content))
		_, _ = sum.Write(content)
	}
	return [sha256.Size]byte(sum.Sum(nil)), nil
}

// Run watches the directory until ctx ends. Where that is not possible, the Source compares every few seconds.
func (f *Files[T]) Run(ctx context.Context, notify func()) {
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer func() { _ = watcher.Close() }()
		directory := f.path
		if info, statErr := os.Stat(f.path); statErr != nil || !info.IsDir() {
			directory = filepath.Dir(f.path)
		}
		err = watcher.Add(directory)
	}
	if err != nil {
		f.logger.Warn("the injector's configuration cannot be watched, looking every few seconds instead", "path", f.path,
			"interval", lookInterval.String(), "error", err)
		<-ctx.Done()
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-watcher.Events:
			if !ok {
				return
			}
			notify()
		case _, ok := <-watcher.Errors: // Events were lost.
			if !ok {
				return
			}
			notify()
		}
	}
}
