package router

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Shedder decides which requests are refused while Sluice is overloaded. Its methods are called from any goroutine.
type Shedder interface {
	// Admit reports whether a request of a router of the class is served; if not, the client may try again after a time,
	// and 0 leaves Retry-After out. It is called for every request of a class below PriorityCritical.
	Admit(class dynamic.PriorityClass) (permit uint32, retryAfter time.Duration, admitted bool)
	// Release is called with the permit when an admitted request has ended.
	Release(permit uint32)
}

// SetShedder sets what refuses requests while Sluice is overloaded; without one none is refused. It is called before
// the first request.
func (t *ActiveTable) SetShedder(shedder Shedder) { t.shedder = shedder }

// classOf returns the priority class of a router. Requests to Sluice's own services, such as health checks, the API
// and challenges of ACME, are critical whatever is declared.
func (c *Compiler) classOf(definition *dynamic.Router, service *serviceNode, node *routerNode) dynamic.PriorityClass {
	class, err := dynamic.ParsePriorityClass(definition.PriorityClass)
	if err != nil {
		node.warn(dynamic.CodeIneffectiveOption, err.Error()+", and has no effect")
	}
	if service != nil {
		if _, internal := c.options.Internal[service.name]; internal {
			return dynamic.PriorityCritical
		}
	}
	return class
}

// serve calls the handler of a route, unless the request is one that is refused under overload.
func (t *ActiveTable) serve(w http.ResponseWriter, r *http.Request, record *telemetry.Record, route *Route) {
	if t.shedder == nil || route.class == dynamic.PriorityCritical {
		route.handler.ServeHTTP(w, r)
		return
	}
	permit, retryAfter, admitted := t.shedder.Admit(route.class)
	if !admitted {
		overloaded(w, r, record, retryAfter)
		return
	}
	defer t.shedder.Release(permit)
	route.handler.ServeHTTP(w, r)
}

// overloaded answers 503; the client may try again after a time.
func overloaded(w http.ResponseWriter, r *http.Request, record *telemetry.Record, retryAfter time.Duration) {
	record.Code = telemetry.CodeOverloaded
	record.Reason = "Sluice is overloaded and refuses requests of the router's priority class"
	if retryAfter > 0 {
		seconds := (retryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	httpio.Error(w, r, http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable)+"\n")
}
