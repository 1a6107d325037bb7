package file

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/telemetry"
)

var _ = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	if job := os.Getenv(jobVariable); job != "" {
		os.Exit(work(job, os.Getenv(pathVariable)))
	}
	goleak.VerifyTestMain(m)
}

func TestStore(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Backend {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "acme.json")
		return storagetest.Backend{Open: func(*testing.T) storage.Store { return Open(path, telemetry.Discard{}) }}
	})
}
