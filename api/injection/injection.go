// Package injection adds the state of the admission webhook to the API: /api/injector.
//
// It reads the state through the interface that is declared here, and answers with JSON. The part is mounted where the
// static option injector is set; elsewhere the path answers 404.
package injection

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/inject/webhook"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Injector reports on the webhook; *injector.Injector does.
type Injector interface {
	// Status returns counts, certificates and the last reload. It must return at once.
	Status() webhook.Status
}

// Part answers the path of the package. It is a part of the API.
type Part struct {
	injector Injector
	write    func(w http.ResponseWriter, status int, value any)
}

// New returns a part that is to be mounted.
func New(injector Injector, logger telemetry.Logger) *Part {
	return &Part{injector: injector, write: api.Writer(logger)}
}

// Mount adds the path, which begins with prefix, to the API's.
func (p *Part) Mount(root *mux.Router, prefix string) {
	api.Get(root, prefix+"/api/injector", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, http.StatusOK, p.injector.Status())
	})
}
