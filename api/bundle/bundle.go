// Package bundle makes the support archive: a gzipped tar archive for diagnosing a running Sluice from afar.
//
// It contains the API's responses, the static and the dynamic configuration, the metrics, and profiles of the Go
// runtime, all without secrets: configurations are redacted here, everything else is redacted at its source. One
// archive is made at a time, and it is complete before its first byte is sent.
package bundle

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Path is where the archive is served, below the option api.basePath.
const Path = "/api/support-dump"

// Options are the sources of the archive.
type Options struct {
	// State, Static and Logger are required.
	State  api.State
	Static *static.Configuration
	// Metrics serves the metrics page; nil leaves it out.
	Metrics http.Handler
	// Logger logs finished archives and the errors of their parts.
	Logger telemetry.Logger
}

// Bundle answers GET /api/support-dump. It is a part of the API.
type Bundle struct {
	options Options
	busy    atomic.Bool
}

// New returns a Bundle that is not mounted yet.
func New(options Options) *Bundle { return &Bundle{options: options} }

// Mount adds the path, which begins with prefix. The responses of root's other paths become part of the archive.
func (b *Bundle) Mount(root *mux.Router, prefix string) {
	write := api.Writer(b.options.Logger)
	api.Get(root, prefix+Path, func(w http.ResponseWriter, r *http.Request) {
		if !b.busy.CompareAndSwap(false, true) {
			w.Header().Set("Retry-After", "5")
			write(w, http.StatusServiceUnavailable, api.Problem{Message: "an archive is being made already"})
			return
		}
		archive := b.pack(r, root, prefix)
		header := w.Header()
		header.Set("Content-Type", "application/gzip")
		header.Set("Content-Disposition", "attachment; filename=support-dump.tar.gz")
		header.Set("Content-Length", strconv.Itoa(len(archive)))
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(archive) // the client may have gone
	})
}

// pack makes the archive and unlocks the next one, before a slow client reads it.
func (b *Bundle) pack(r *http.Request, root http.Handler, prefix string) []byte {
	defer b.busy.Store(false)
	archive := newArchive(time.Now())
	for _, one := range b.items(r, root, prefix) {
		archive.add(one)
	}
	content := archive.close()
	b.options.Logger.Info("support archive made", "files", archive.files, "bytes", len(content), "problems",
		len(archive.problems))
	return content
}
