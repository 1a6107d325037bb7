package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/file"
	"github.com/sluiceproxy/sluice/telemetry"
)

// What is written is read again, without kinds that acme.json does not have.
func TestWrite(t *testing.T) {
	values, err := snapshot(t, file.New(place(t, "traefik.json", 0o600), telemetry.Discard{}))
	if err != nil {
		t.Fatal(err)
	}
	all := map[storage.Key][]byte{{Kind: storage.KindSchedule, Resolver: "le", ID: "x"}: []byte("{}")}
	for key, value := range values {
		all[key] = []byte(value)
	}
	path := filepath.Join(t.TempDir(), "out.json")
	for range 2 { // The second time the file exists.
		if err := file.Write(path, all); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	got, err := snapshot(t, file.New(path, telemetry.Discard{}))
	if diff := cmp.Diff(values, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	key := storage.Key{Kind: storage.KindAccount, Resolver: "le"}
	err = file.Write(path, map[storage.Key][]byte{key: []byte("[")})
	if err == nil || !strings.Contains(err.Error(), "account of resolver le") {
		t.Errorf("error %v", err)
	}
}
