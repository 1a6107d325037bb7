package file

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"

	"github.com/sluiceproxy/sluice/telemetry"
)

// targets says what is to be watched. All paths are absolute, and directories are without symbolic links.
type targets struct {
	// directories are watched.
	directories map[string]bool
	// trees are directories in which every event counts.
	trees map[string]bool
	// names are paths whose events count.
	names map[string]bool
}

// targets returns what decides what the files of a listing say: the directories, the links on the way to each file, and
// the files that the configuration names.
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

// mostLinks is how many symbolic links are followed on the way to one file, as in Linux.
const mostLinks = 40

// path adds the places at which another file can come to stand under a path: its own entry, that of each link on the
// way to it, and, if something is missing, the entry that is to appear.
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

// watcher follows targets. A nil watcher watches nothing.
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

// fail switches to looking at the files from time to time.
func (w *watcher) fail(path string, err error) {
	if !w.failed {
		w.logger.Warn("file provider: cannot watch, looking every few seconds instead",
			"path", path, "interval", pollInterval, "error", err)
	}
	w.failed = true
}

// blind says that changes may go unseen.
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

// follow watches the directories of the targets and no others. It reports whether one was not watched until now, so
// that something may have happened in it unseen.
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
		// Another directory may have taken the place of the one that is watched.
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
