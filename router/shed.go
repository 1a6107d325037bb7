package router

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Shedder decides which requests are refused while Sluice is overloaded.
type Shedder interface {
	// Shed reports whether a request of a router of the class is refused, and after which time the client may try again;
	// 0 leaves Retry-After out. It is called for every request of a class below PriorityCritical, from any goroutine.
	Shed(class dynamic.PriorityClass) (retryAfter time.Duration, shed bool)
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

// shed answers 503 when the request is one that the overload manager refuses; it reports whether it has answered.
func (t *ActiveTable) shed(w http.ResponseWriter, r *http.Request, record *telemetry.Record, route *Route) bool {
	if t.shedder == nil || route.class == dynamic.PriorityCritical {
		return false
	}
	retryAfter, shed := t.shedder.Shed(route.class)
	if !shed {
		return false
	}
	record.Code = telemetry.CodeOverloaded
	record.Reason = "Sluice is overloaded and refuses requests of the router's priority class"
	if retryAfter > 0 {
		seconds := (retryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	httpio.Error(w, r, http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable)+"\n")
	return true
}
