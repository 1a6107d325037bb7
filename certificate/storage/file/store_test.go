package file

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// messages is a logger that keeps warnings.
type messages struct {
	telemetry.Discard

	mu    sync.Mutex
	warns []string
}

func (m *messages) Warn(message string, _ ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.warns = append(m.warns, message)
}

// write makes a file with a mode.
func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestUnusableFilesAreKept demands of every method to refuse a file, and that it stays as it is.
func TestUnusableFilesAreKept(t *testing.T) {
	whole := string(readTestdata(t, "traefik.json"))
	for name, test := range map[string]struct {
		suffix, text string
		mode         os.FileMode
		want         string
	}{
		"cut off":          {"", whole[:1000], 0o600, "cut off"},
		"readable":         {"", whole, 0o644, "chmod 600 "},
		"of the group":     {"", "", 0o620, "chmod 600 "},
		"old":              {"", string(readTestdata(t, "traefik-1.7.json")), 0o600, "Traefik 1.7"},
		"state cut off":    {suffixState, `{"version":1,"values":{"`, 0o600, ".state is damaged"},
		"state readable":   {suffixState, `{"version":1}`, 0o640, "chmod 600 "},
		"state of others":  {suffixState, `{"version":1,"values":{"a":""}}`, 0o600, "kind:resolver:id"},
		"state of a later": {suffixState, `{"version":2}`, 0o600, "has version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "acme.json")
			write(t, path+test.suffix, test.text, test.mode)
			store := Open(path, telemetry.Discard{})
			key, value := storagetest.Certificate(t, "le", "x", "a.example")
			if test.suffix != "" {
				key, value = storage.Key{Kind: storage.KindOrder, Resolver: "le", ID: "x"}, []byte("x")
			}
			_, got := store.Get(t.Context(), key)
			for method, err := range map[string]error{
				"Get": got, "Put": store.Put(t.Context(), key, value), "Delete": store.Delete(t.Context(), key),
				"Watch": store.Watch(t.Context(), func([]storage.Change) { t.Error("something was received") }),
			} {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v", method, err)
				}
			}
			if after, err := os.ReadFile(path + test.suffix); err != nil || string(after) != test.text {
				t.Errorf("the file has changed: %v", err)
			}
		})
	}
}

func TestFolderMustExist(t *testing.T) {
	store := Open(filepath.Join(t.TempDir(), "missing", "acme.json"), telemetry.Discard{})
	key, value := storagetest.Certificate(t, "le", "x", "a.example")
	if err := store.Put(t.Context(), key, value); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("Put: %v", err)
	}
	if err := store.Watch(t.Context(), func([]storage.Change) {}); err == nil {
		t.Error("Watch: no error")
	}
}

func TestEmptyFileHasNoValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.json")
	write(t, path, "", 0o600)
	store := Open(path, telemetry.Discard{})
	watcher := storagetest.Watch(t, store)
	key, value := storagetest.Certificate(t, "le", "x", "a.example")
	if err := store.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
	watcher.Await(key, value)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestOtherProgramsAreSeen replaces the file as Traefik does, and damages it for a while.
func TestOtherProgramsAreSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.json")
	store := Open(path, telemetry.Discard{})
	watcher := storagetest.Watch(t, store)
	whole := readTestdata(t, "traefik.json")
	values, err := parsed(t, whole).values()
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(whole), 0o600)
	for key, value := range values {
		watcher.Await(key, value)
	}
	write(t, path, string(whole[:2000]), 0o600)
	ticker := time.NewTicker(2 * pollInterval)
	defer ticker.Stop()
	<-ticker.C
	write(t, path, `{"le":{"Account":null,"Certificates":null}}`, 0o600)
	for key := range values {
		watcher.Await(key, nil)
	}
}

func TestDamageEndsTheWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.json")
	store := Open(path, telemetry.Discard{})
	ended := make(chan error, 1)
	began := make(chan struct{}, 1)
	go func() { ended <- store.Watch(t.Context(), func([]storage.Change) { began <- struct{}{} }) }()
	<-began
	write(t, path, "{", 0o600)
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("Watch: %v", err)
		}
	case <-time.NewTimer(time.Minute).C:
		t.Error("Watch goes on")
	}
}

// TestMountedFileIsWrittenInPlace has a file that can't be replaced, and demands that its inode stays.
func TestMountedFileIsWrittenInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.json")
	before := readTestdata(t, "traefik.json")
	write(t, path, string(before), 0o600)
	old, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	logger := &messages{}
	store := Open(path, logger)
	store.rename = func(from, to string) error {
		if to == path {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EBUSY}
		}
		return os.Rename(from, to)
	}
	key, value := storagetest.Certificate(t, "letsencrypt", strings.Repeat("x", 10_000), "new.example")
	if err := store.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path + suffixCopy); err != nil || string(text) != string(before) {
		t.Errorf("there is no copy: %v", err)
	}
	if found, err := store.Get(t.Context(), key); err != nil || !storagetest.Equal(key.Kind, found, value) {
		t.Errorf("Get: %v", err)
	}
	if err := store.Delete(t.Context(), key); err != nil { // Which shortens it.
		t.Fatal(err)
	}
	order := storage.Key{Kind: storage.KindOrder, ID: "x"}
	if err := store.Put(t.Context(), order, []byte("x")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !json.Valid(text) {
		t.Errorf("the file is damaged: %v", err)
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(old, now) {
		t.Errorf("the file was replaced: %v", err)
	}
	if len(logger.warns) != 1 {
		t.Errorf("warnings: %q", logger.warns)
	}
}

func TestLinkIsKept(t *testing.T) {
	folder := t.TempDir()
	path, target := filepath.Join(folder, "acme.json"), filepath.Join(folder, "real.json")
	write(t, target, "{}", 0o600)
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	key, value := storagetest.Certificate(t, "le", "x", "a.example")
	if err := Open(path, telemetry.Discard{}).Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if text, err := os.ReadFile(target); err != nil || len(text) < 10 {
		t.Errorf("the target was not written: %v", err)
	}
}

// TestLeaderWithoutItsFile deletes the lock of a leader, which must not go on then.
func TestLeaderWithoutItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.json")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	store := Open(path, telemetry.Discard{})
	terms := 0
	if err := store.Lead(ctx, func(leading context.Context) {
		if terms++; terms == 2 {
			cancel()
			return
		}
		if err := os.Remove(path + suffixLeader); err != nil {
			t.Error(err)
		}
		<-leading.Done()
	}); err != nil || terms != 2 {
		t.Errorf("%d terms, %v", terms, err)
	}
}
