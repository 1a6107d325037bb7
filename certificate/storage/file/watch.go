package file

import (
	"context"
	"io/fs"
	"os"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// Watch looks at the files every 500 ms, which also works where the system does not report changes (NFS). An error
// means that a file is damaged, unreadable or readable for others.
func (s *Store) Watch(ctx context.Context, receive func(changes []storage.Change)) error {
	w := &watch{store: s, receive: receive}
	changed, forget := s.subscribe()
	defer forget()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			rest(ctx)
		case <-ticker.C:
		}
	}
}

// rest waits a moment, in which further changes come together.
func rest(ctx context.Context) {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// subscribe returns a channel that gets a signal when this process has changed a file.
func (s *Store) subscribe() (changed <-chan struct{}, forget func()) {
	channel := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[channel] = struct{}{}
	return channel, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, channel)
	}
}

// notify signals to the watchers of this process.
func (s *Store) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for channel := range s.watchers {
		select {
		case channel <- struct{}{}:
		default:
		}
	}
}

// watch is one call of Watch.
type watch struct {
	store   *Store
	receive func(changes []storage.Change)
	// seen is what the files were when they were read last, and sent what was in them; nil before the first time.
	seen [2]stamp
	sent map[storage.Key][]byte
	// failing is when the files became unreadable; zero while they are readable.
	failing time.Time
}

// look reads the files if they have changed, and sends the difference.
func (w *watch) look(ctx context.Context) error {
	paths := [2]string{w.store.path, w.store.path + suffixState}
	now := time.Now()
	seen := [2]stamp{stampOf(paths[0], now), stampOf(paths[1], now)}
	if w.sent != nil && w.failing.IsZero() && seen[0].same(w.seen[0]) && seen[1].same(w.seen[1]) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	values, err := w.store.all(ctx, paths[:]...)
	if err != nil {
		if w.failing.IsZero() {
			w.failing = now
		}
		if w.sent == nil || now.Sub(w.failing) >= grace {
			return err
		}
		return nil
	}
	changes := storage.Diff(w.sent, values)
	first := w.sent == nil
	w.seen, w.sent, w.failing = seen, values, time.Time{}
	if first || len(changes) > 0 {
		w.receive(changes)
	}
	return nil
}

// stamp is what tells the versions of a file apart.
type stamp struct {
	file fs.FileInfo // Nil if there is none.
	read time.Time
}

func stampOf(path string, now time.Time) stamp {
	file, err := os.Stat(path)
	if err != nil {
		file = nil
	}
	return stamp{file: file, read: now}
}

// same reports whether a file is as it was. A file that was written shortly before it was read is not known to be the
// same, since the times of files are coarse.
func (s stamp) same(before stamp) bool {
	if s.file == nil || before.file == nil {
		return s.file == nil && before.file == nil
	}
	now, then := s.file, before.file
	return os.SameFile(now, then) && now.Size() == then.Size() && now.Mode() == then.Mode() &&
		now.ModTime().Equal(then.ModTime()) && before.read.Sub(then.ModTime()) > time.Second
}
