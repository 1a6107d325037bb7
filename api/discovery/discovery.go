// Package discovery adds the publication to xDS clients to the API: /api/xds/clients and /api/xds/resources.
//
// It reads the state of the server's streams and the published resources through the interface that is declared here,
// and answers with JSON, in pages. Resources are in the JSON form of Protocol Buffers; they have no secrets, since
// they hold names, addresses and policies alone.
package discovery

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/xds"
)

// Server reports on streams and resources; xds.Server does.
type Server interface {
	// Clients returns the state of all streams, sorted.
	Clients() []xds.Client
	// Resources returns what the streams of a node have subscribed to, or all resources for an empty node; ok is false
	// where no stream has the node.
	Resources(node string) (resources []xds.Resource, ok bool)
}

// Part answers the paths of the package. It is a part of the API.
type Part struct {
	server Server
	write  func(w http.ResponseWriter, status int, value any)
}

// New returns a part that is to be mounted.
func New(server Server, logger telemetry.Logger) *Part {
	return &Part{server: server, write: api.Writer(logger)}
}

// Mount adds the paths, which begin with prefix, to the API's.
func (p *Part) Mount(root *mux.Router, prefix string) {
	api.Get(root, prefix+"/api/xds/clients", p.clients)
	api.Get(root, prefix+"/api/xds/resources", p.resources)
}

// clients returns a page of the streams. The filters are search, in node, address and identity, and status.
func (p *Part) clients(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		p.refuse(w, http.StatusBadRequest, "query: "+err.Error())
		return
	}
	search, status := strings.ToLower(query.Get("search")), query.Get("status")
	kept := []xds.Client{}
	for _, one := range p.server.Clients() {
		text := strings.ToLower(one.Node + " " + one.Address + " " + one.Identity)
		if strings.Contains(text, search) && (status == "" || one.Status == status) {
			kept = append(kept, one)
		}
	}
	page(p, w, query, kept)
}

// resources returns a page of the resources. The filters are node (what its streams have subscribed to), type, and
// search in the name.
func (p *Part) resources(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		p.refuse(w, http.StatusBadRequest, "query: "+err.Error())
		return
	}
	all, known := p.server.Resources(query.Get("node"))
	if !known {
		p.refuse(w, http.StatusNotFound, "no stream has the node "+query.Get("node"))
		return
	}
	search, kind := strings.ToLower(query.Get("search")), query.Get("type")
	kept := []xds.Resource{}
	for _, one := range all {
		if strings.Contains(strings.ToLower(one.Name), search) && (kind == "" || kind == one.Type) {
			kept = append(kept, one)
		}
	}
	page(p, w, query, kept)
}

// page answers with a page of a list.
func page[T any](p *Part, w http.ResponseWriter, query url.Values, list []T) {
	shown, err := api.Paged(w.Header(), query, list)
	if err != nil {
		p.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	p.write(w, http.StatusOK, shown)
}

func (p *Part) refuse(w http.ResponseWriter, status int, message string) {
	p.write(w, status, api.Problem{Message: message})
}
