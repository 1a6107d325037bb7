package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// Drainer drains endpoints; loadbalancer.Registry does.
type Drainer interface {
	// Drain begins a drain, and returns how many endpoints of services it selects.
	Drain(drain loadbalancer.Drain, force bool) (int, error)
	// Undrain ends the drains that the selector encloses, and returns them.
	Undrain(selector loadbalancer.DrainSelector) []loadbalancer.Drain
	// Drains returns the current drains, sorted.
	Drains() []loadbalancer.Drain
}

// DrainRequest is the JSON of a request to begin or end a drain. A Service, an Endpoint or both are required.
type DrainRequest struct {
	// Protocol is that of the service: http, tcp or udp. Empty is http with a Service; without one, all protocols.
	Protocol string `json:"protocol,omitempty"`
	// Service is the qualified name of a service with endpoints; empty is all services that have Endpoint.
	Service string `json:"service,omitempty"`
	// Endpoint is an IP address with a port; empty is all endpoints of Service.
	Endpoint string `json:"endpoint,omitempty"`
	// For is how long the drain lasts, such as 10m; empty is until it is ended. It is for POST.
	For string `json:"for,omitempty"`
	// Force drains also where that leaves a service without an endpoint. It is for POST.
	Force bool `json:"force,omitempty"`
}

// Drain is the JSON of a drain.
type Drain struct {
	// Protocol, Service and Endpoint are those of the request; Protocol is empty for all protocols.
	Protocol string `json:"protocol,omitempty"`
	Service  string `json:"service,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Since is when it began, and Until when it ends by itself; without Until it does not.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Endpoints is how many endpoints of services it selected when it began; only the response to POST has it.
	Endpoints int `json:"endpoints,omitempty"`
	// Unserved are the services of which no endpoint gets requests while the drain holds one. The response to POST
	// does not have it.
	Unserved []Service `json:"unserved,omitempty"`
}

// Service is the JSON of a service with endpoints.
type Service struct {
	// Protocol is http, tcp or udp.
	Protocol string `json:"protocol"`
	// Service is its qualified name.
	Service string `json:"service"`
}

// newDrain returns the JSON of a drain.
func newDrain(drain loadbalancer.Drain) Drain {
	shown := Drain{Protocol: drain.Protocol, Service: drain.Service, Since: drain.Since, Until: drain.Until}
	if drain.Endpoint.IsValid() {
		shown.Endpoint = drain.Endpoint.String()
	}
	for _, pool := range drain.Unserved {
		protocol, service := loadbalancer.SplitPoolName(pool)
		shown.Unserved = append(shown.Unserved, Service{Protocol: protocol, Service: service})
	}
	return shown
}

// selector returns what a request selects.
func (d *DrainRequest) selector() (selector loadbalancer.DrainSelector, err error) {
	protocols := []string{loadbalancer.ProtocolHTTP, loadbalancer.ProtocolTCP, loadbalancer.ProtocolUDP}
	switch {
	case d.Protocol != "" && !slices.Contains(protocols, d.Protocol):
		return selector, fmt.Errorf("protocol %q is none of %s", d.Protocol, strings.Join(protocols, ", "))
	case d.Service == "" && d.Endpoint == "":
		return selector, errors.New("service and endpoint are both missing")
	case d.Service != "" && !strings.Contains(d.Service, "@"):
		return selector, fmt.Errorf("service %q has no provider: write NAME@PROVIDER", d.Service)
	}
	selector = loadbalancer.DrainSelector{Protocol: d.Protocol, Service: d.Service}
	if selector.Service != "" && selector.Protocol == "" {
		selector.Protocol = loadbalancer.ProtocolHTTP
	}
	if d.Endpoint != "" {
		if selector.Endpoint, err = netip.ParseAddrPort(d.Endpoint); err != nil {
			return selector, fmt.Errorf("endpoint %q is not an IP address with a port", d.Endpoint)
		}
	}
	return selector, nil
}

// listDrains lists the drains.
func (h *handler) listDrains(w http.ResponseWriter, r *http.Request) {
	page, err := api.Paged(w.Header(), r.URL.Query(), h.options.Endpoints.Drains())
	if err != nil {
		h.refuse(w, http.StatusBadRequest, err)
		return
	}
	shown := make([]Drain, 0, len(page))
	for _, drain := range page {
		shown = append(shown, newDrain(drain))
	}
	h.write(w, http.StatusOK, shown)
}

// drain begins a drain.
func (h *handler) drain(w http.ResponseWriter, r *http.Request) {
	var request DrainRequest
	if !h.read(w, r, &request) {
		return
	}
	selector, err := request.selector()
	if err != nil {
		h.refuse(w, http.StatusBadRequest, err)
		return
	}
	lasting, err := lasting(request.For)
	if err != nil {
		h.refuse(w, http.StatusBadRequest, err)
		return
	}
	drain := loadbalancer.Drain{DrainSelector: selector, Since: time.Now()}
	if lasting > 0 {
		drain.Until = drain.Since.Add(lasting)
	}
	selected, err := h.options.Endpoints.Drain(drain, request.Force)
	if err != nil {
		status := http.StatusNotFound
		if last, ok := errors.AsType[*loadbalancer.LastEndpointError](err); ok {
			status, err = http.StatusConflict, fmt.Errorf("%w; force drains all the same", last)
		} else if errors.Is(err, loadbalancer.ErrTooManyDrains) {
			status = http.StatusConflict
		}
		h.refuse(w, status, err)
		return
	}
	shown := newDrain(drain)
	shown.Endpoints = selected
	fields := shown.fields()
	if lasting > 0 {
		fields = append(fields, "for", lasting.String())
	}
	if request.Force {
		fields = append(fields, "force", true)
	}
	h.log(r, "endpoint drained", append(fields, "count", selected)...)
	h.write(w, http.StatusOK, shown)
}

// undrain ends drains.
func (h *handler) undrain(w http.ResponseWriter, r *http.Request) {
	var request DrainRequest
	if !h.read(w, r, &request) {
		return
	}
	selector, err := request.selector()
	switch {
	case err != nil:
	case request.For != "" || request.Force:
		err = errors.New("for and force have no meaning when a drain is ended")
	}
	if err != nil {
		h.refuse(w, http.StatusBadRequest, err)
		return
	}
	ended := h.options.Endpoints.Undrain(selector)
	if len(ended) == 0 {
		h.refuse(w, http.StatusNotFound, errors.New("there is no such drain"))
		return
	}
	shown := make([]Drain, 0, len(ended))
	for _, drain := range ended {
		one := newDrain(drain)
		h.log(r, "drain of endpoint ended", one.fields()...)
		shown = append(shown, one)
	}
	h.write(w, http.StatusOK, shown)
}

// fields returns what a drain selects, for the log.
func (d *Drain) fields() []any {
	var fields []any
	for _, field := range [...][2]string{{"protocol", d.Protocol}, {"service", d.Service}, {"endpoint", d.Endpoint}} {
		if field[1] != "" {
			fields = append(fields, field[0], field[1])
		}
	}
	return fields
}
