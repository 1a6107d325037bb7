package file_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/file"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) func() storage.Store {
		path := filepath.Join(t.TempDir(), "acme.json")
		return func() storage.Store { return file.New(path, telemetry.Discard{}) }
	})
}

// place copies a file of testdata with a mode.
func place(t *testing.T, name string, mode os.FileMode) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "acme.json")
	if err := os.WriteFile(path, text, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// snapshot returns the values of a storage.
func snapshot(t *testing.T, store storage.Store) (map[storage.Key]string, error) {
	t.Helper()
	values := map[storage.Key]string{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := store.Watch(ctx, func(changes []storage.Change) {
		for _, change := range changes {
			values[change.Key] = string(change.Value)
		}
		cancel()
	})
	return values, err
}

var update = flag.Bool("update", false, "write the golden files")

// A file of Traefik is read as it is, and a change keeps everything else.
func TestFileOfTraefik(t *testing.T) {
	path := place(t, "traefik.json", 0o600)
	store := file.New(path, telemetry.Discard{})
	values, err := snapshot(t, store)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for key, value := range values {
		count[string(key.Kind)+" "+key.Resolver]++
		if key.Kind == storage.KindCertificate && key.ID != storage.CertificateID(namesOf(t, value)) {
			t.Errorf("ID %s of %.80s", key.ID, value)
		}
	}
	want := map[string]int{"account le": 1, "account other": 1, "certificate le": 2, "certificate other": 1}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Error(diff)
	}
	id := storage.CertificateID([]string{"new.example.com"})
	key := storage.Key{Kind: storage.KindCertificate, Resolver: "other", ID: id}
	added := `{"main":"new.example.com","chain":"CHAIN","key":"KEY"}`
	if err := store.Put(t.Context(), key, []byte(added)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "traefik.json.golden")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expected, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(expected), string(got)); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}

func namesOf(t *testing.T, value string) []string {
	t.Helper()
	var c storage.Certificate
	if err := json.Unmarshal([]byte(value), &c); err != nil {
		t.Fatal(err)
	}
	return c.Names()
}

// A file that cannot be used stops everything, and is left as it is.
func TestUnusableFiles(t *testing.T) {
	for name, want := range map[string]string{
		"truncated.json": "not JSON", "v1.json": "Traefik v1", "list.json": "not JSON", "key.json": "PrivateKey",
	} {
		t.Run(name, func(t *testing.T) {
			path := place(t, name, 0o600)
			before, _ := os.ReadFile(path)
			store := file.New(path, telemetry.Discard{})
			if _, err := snapshot(t, store); err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want %q", err, want)
			}
			key := storage.Key{Kind: storage.KindAccount, Resolver: "le"}
			if err := store.Put(t.Context(), key, []byte(`{"key":""}`)); err == nil {
				t.Error("a write succeeds")
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file has changed")
			}
		})
	}
	t.Run("mode", func(t *testing.T) {
		path := place(t, "traefik.json", 0o644)
		_, err := snapshot(t, file.New(path, telemetry.Discard{}))
		if err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("empty", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "acme.json")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if values, err := snapshot(t, file.New(path, telemetry.Discard{})); err != nil || len(values) != 0 {
			t.Errorf("%v, error %v", values, err)
		}
	})
}
