package file

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"

	"github.com/sluiceproxy/sluice/telemetry"
)

// targets is the set of watched paths. All are absolute; directories are without symbolic links.
type targets struct {
	// directories are watched.
	directories map[string]bool
	// trees are directories in which every event is relevant.
	trees map[string]bool
	// names are paths whose events are relevant.
	names map[string]bool
}

// targets returns what determines the configuration: the directories, the links on the path of each file, and the files
// that objects name.
func (p *Provider) targets(found listing) targets {
	t := targets{directories: map[string]bool{}, trees: map[string]bool{}, names: map[string]bool{}}
	if p.config.Directory != "" {
		t.path(p.config.Directory)
	}
	for _, directory := range found.directories {
		t.directories[directory] = true
		t.trees[directory] = true
	}
	for _, path := range found.files {
		t.path(path)
	}
	for _, path := range p.named {
		t.path(path)
	}
	return t
}

// mostLinks is the maximum number of symbolic links in one path, as in Linux.
const mostLinks = 40

// path adds the entries that determine what a path refers to: its own, that of each link in it, and the first missing
// one.
func (t *targets) path(path string) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return
	}
	separator := string(filepath.Separator)
	real := filepath.VolumeName(absolute) + separator
	rest := strings.Split(strings.TrimPrefix(absolute, real), separator)
	for links := 0; len(rest) > 0 && links <= mostLinks; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		full := filepath.Join(real, name)
		info, err := os.Lstat(full)
		linked := err == nil && info.Mode()&os.ModeSymlink != 0
		if err != nil || linked || len(rest) == 0 {
			t.directories[real] = true
			t.names[full] = true
		}
		if err != nil {
			return
		}
		real = full
		if !linked {
			continue
		}
		links++
		target, err := os.Readlink(full)
		if err != nil {
			return
		}
		real = filepath.Dir(full)
		if filepath.IsAbs(target) {
			real = filepath.VolumeName(target) + separator
		}
		rest = append(strings.Split(target, separator), rest...)
	}
}

// watcher watches targets. A nil watcher watches nothing.
type watcher struct {
	logger  telemetry.Logger
	notify  *fsnotify.Watcher
	watched map[string]os.FileInfo
	targets targets
	failed  bool
}

func newWatcher(logger telemetry.Logger) *watcher {
	w := &watcher{logger: logger, watched: map[string]os.FileInfo{}}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.fail("", err)
		return w
	}
	w.notify = notify
	return w
}

func (w *watcher) close() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
}

// fail switches to polling.
func (w *watcher) fail(path string, err error) {
	if !w.failed {
		w.logger.Warn("file provider: cannot watch, looking every few seconds instead",
			"path", path, "interval", pollInterval, "error", err)
	}
	w.failed = true
}

// blind reports whether changes may be missed.
func (w *watcher) blind() bool { return w != nil && w.failed }

func (w *watcher) events() <-chan fsnotify.Event {
	if w == nil || w.notify == nil {
		return nil
	}
	return w.notify.Events
}

func (w *watcher) errors() <-chan error {
	if w == nil || w.notify == nil {
		return nil
	}
	return w.notify.Errors
}

// relevant reports whether an event may change the configuration.
func (w *watcher) relevant(event fsnotify.Event) bool {
	_, itself := w.watched[event.Name]
	return itself || w.targets.names[event.Name] || w.targets.trees[filepath.Dir(event.Name)]
}

// follow watches exactly the directories of the targets. It reports whether one is new, so that earlier changes in it
// may have been missed.
func (w *watcher) follow(t targets) (added bool) {
	if w == nil {
		return false
	}
	w.targets = t
	if w.notify == nil {
		return false
	}
	for directory := range w.watched {
		if !t.directories[directory] {
			_ = w.notify.Remove(directory)
			delete(w.watched, directory)
		}
	}
	active := map[string]bool{}
	for _, directory := range w.notify.WatchList() {
		active[directory] = true
	}
	failed := false
	for directory := range t.directories {
		info, err := os.Stat(directory)
		if err != nil {
			continue
		}
		// The path may have been replaced by another directory.
		if known, ok := w.watched[directory]; ok && active[directory] && os.SameFile(known, info) {
			continue
		}
		_ = w.notify.Remove(directory)
		delete(w.watched, directory)
		if err := w.notify.Add(directory); err != nil {
			w.fail(directory, err)
			failed = true
			continue
		}
		w.watched[directory] = info
		added = true
	}
	w.failed = failed
	return added
}
