package router

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/telemetry"
)

// activationTimeout is how long a request waits for a table with the router that was discovered for it.
const activationTimeout = 2 * time.Second

// errNoTable is for a discovered host for which no router was activated.
var errNoTable = errors.New("the discovered router is not active yet")

// Discovery finds the configuration of hosts that no router has, while their requests wait.
type Discovery interface {
	// Discover requests the configuration of a host, which is canonical, and a port. It returns when that configuration
	// has been sent to the pipeline. The host is not known if it does not exist at the source; an error says why that
	// cannot be found out at present.
	Discover(ctx context.Context, host string, port uint16) (known bool, err error)
}

// Discover sets how the configuration of unknown hosts is found, and for which entrypoints: those to which it attaches
// routers. It is called before the first request.
func (t *ActiveTable) Discover(discovery Discovery, entrypoints []string) {
	t.discovery, t.discovering = discovery, map[string]bool{}
	for _, name := range entrypoints {
		t.discovering[name] = true
	}
}

// discover waits for the configuration of a host that no router has, and returns the match with the table that has it.
func (h routingHandler) discover(r *http.Request, unmatched match) (match, error) {
	known, err := h.target.discovery.Discover(r.Context(), unmatched.host, unmatched.port)
	if err != nil || !known {
		return unmatched, err
	}
	timeout := time.NewTimer(activationTimeout)
	defer timeout.Stop()
	for {
		found := h.match(r)
		if found.route != nil {
			return found, nil
		}
		select {
		case <-found.serving.replaced:
		case <-timeout.C:
			return found, errNoTable
		case <-r.Context().Done():
			return found, r.Context().Err()
		}
	}
}

// unmatched serves a request that no router matches: with 404, and with 503 if that is not certain.
func (h routingHandler) unmatched(
	w http.ResponseWriter, r *http.Request, record *telemetry.Record, reason error,
) {
	switch {
	case h.otherwise != nil:
		h.otherwise.ServeHTTP(w, r)
	case reason == nil:
		record.Code = telemetry.CodeNoRouter
		httpio.Error(w, r, http.StatusNotFound, "404 page not found\n")
	default:
		record.Code, record.Reason = telemetry.CodeDiscovery, reason.Error()
		httpio.Error(w, r, http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable)+"\n")
	}
}
