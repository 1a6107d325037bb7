package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/file"
	"github.com/sluiceproxy/sluice/telemetry"
)

// What is written is read again, without kinds that acme.json does not have.
func TestWrite(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "traefik.json"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "acme.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	values, err := storage.Snapshot(t.Context(), file.Open(path, telemetry.Discard{}))
	if err != nil {
		t.Fatal(err)
	}
	values[storage.Key{Kind: storage.KindSchedule, Resolver: "le", ID: "x"}] = []byte("{}")
	out := filepath.Join(t.TempDir(), "out.json")
	for range 2 { // The second time the file exists.
		if err := file.Write(out, values); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	delete(values, storage.Key{Kind: storage.KindSchedule, Resolver: "le", ID: "x"})
	got, err := storage.Snapshot(t.Context(), file.Open(out, telemetry.Discard{}))
	if diff := cmp.Diff(values, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
