// Package bundle packs what somebody needs who is to find out from afar what is wrong with a Sluice: one archive, made
// while it runs.
//
// In flow the answers of the API that it is mounted in, the static configuration, the active dynamic one, the page of
// metrics, and what the Go runtime says of itself; out flow a tar archive, compressed by gzip, in which no secret is
// readable: configurations are redacted here, and everything else was made to be shown. One archive is made at a time,
// and it is complete before its first byte is sent. The package keeps nothing, and asks nobody outside of the process.
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

// Options says what the archive is made of.
type Options struct {
	// State, Static and Logger are needed.
	State  api.State
	Static *static.Configuration
	// Metrics answers with the page of metrics; nil leaves it out.
	Metrics http.Handler
	// Logger hears that an archive was made, and what could not be part of it.
	Logger telemetry.Logger
}

// Bundle answers GET /api/support-dump. It is a part of the API.
type Bundle struct {
	options Options
	busy    atomic.Bool
}

// New returns a Bundle that is not mounted yet.
func New(options Options) *Bundle { return &Bundle{options: options} }

// Mount adds the path, which begins with prefix, to the API's. What else the API answers becomes a part of the archive.
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
		_, _ = w.Write(archive) // a client that has left is not our concern
	})
}

// pack makes the archive, and lets the next one be made. How long the client takes to read it is not our concern.
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
