// Package environments adds the environment services to the API: /api/environments.
//
// It reads the table that serves, and answers with JSON, in pages. What answers a tag is chosen by the handlers that
// serve requests. The answer has no secrets, since it holds names, tags, counts and places of declarations alone.
package environments

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// MaxTags is the maximum number of tags in an answer.
	MaxTags = 1000
	// MaxRequested is the maximum number of tags that a request may name.
	MaxRequested = 100
)

// Options are the data sources of the part. All are required.
type Options struct {
	// Table returns the table that serves.
	Table func() *router.Table
	// Origin returns where an object was declared.
	Origin func(ref dynamic.Ref) dynamic.Origin
	// Logger logs responses that cannot be encoded.
	Logger telemetry.Logger
}

// List is the answer of /api/environments.
type List struct {
	// Tags are the tags of the subsets of all services, sorted, MaxTags at most; MoreTags is the number of further ones.
	Tags     []string `json:"tags"`
	MoreTags int      `json:"moreTags,omitempty"`
	// Services are the environment services of the page, by name.
	Services []Service `json:"services"`
}

// Service is an environment service.
type Service struct {
	router.EnvironmentStatus
	// Origin is where the service was declared: FILE:LINE or the name of the object at its source.
	Origin string `json:"origin,omitempty"`
}

// Part answers the path of the package. It is a part of the API.
type Part struct {
	options Options
	write   func(w http.ResponseWriter, status int, value any)
}

// New returns a part that is to be mounted.
func New(options Options) *Part { return &Part{options: options, write: api.Writer(options.Logger)} }

// Mount adds the path, which begins with prefix, to the API's.
func (p *Part) Mount(root *mux.Router, prefix string) {
	api.Get(root, prefix+"/api/environments", p.list)
}

// list returns a page of the services. The filters are search, in the name, and service, the whole name. With tag,
// which may repeat, each service says what answers that tag.
func (p *Part) list(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		p.refuse(w, "query: "+err.Error())
		return
	}
	requested := query["tag"]
	if len(requested) > MaxRequested {
		p.refuse(w, fmt.Sprintf("query: %d tags, at most %d are allowed", len(requested), MaxRequested))
		return
	}
	search, name := strings.ToLower(query.Get("search")), query.Get("service")
	table := p.options.Table()
	answer := List{Tags: Tags(table)}
	if answer.MoreTags = max(0, len(answer.Tags)-MaxTags); answer.MoreTags > 0 {
		answer.Tags = answer.Tags[:MaxTags]
	}
	kept := slices.DeleteFunc(table.Environments(), func(one router.EnvironmentService) bool {
		return name != "" && one.Name() != name || !strings.Contains(strings.ToLower(one.Name()), search)
	})
	page, err := api.Paged(w.Header(), query, kept)
	if err != nil {
		p.refuse(w, err.Error())
		return
	}
	answer.Services = shown(page, p.options.Origin, requested)
	p.write(w, http.StatusOK, answer)
}

func (p *Part) refuse(w http.ResponseWriter, message string) {
	p.write(w, http.StatusBadRequest, api.Problem{Message: message})
}

// Tags returns the sorted tags of the subsets of all environment services of a table. It is never nil.
func Tags(table *router.Table) []string {
	known := map[string]struct{}{}
	for _, one := range table.Environments() {
		for tag := range one.Tags() {
			known[tag] = struct{}{}
		}
	}
	tags := slices.AppendSeq(make([]string, 0, len(known)), maps.Keys(known))
	slices.Sort(tags)
	return tags
}

// Services returns all environment services of a table, by name, with what answers the given tags. It is never nil.
func Services(table *router.Table, origin func(dynamic.Ref) dynamic.Origin, tags []string) []Service {
	return shown(table.Environments(), origin, tags)
}

func shown(
	services []router.EnvironmentService, origin func(dynamic.Ref) dynamic.Origin, tags []string,
) []Service {
	list := make([]Service, 0, len(services))
	for _, one := range services {
		list = append(list, Service{
			EnvironmentStatus: one.Status(tags),
			Origin:            origin(dynamic.Ref{Kind: dynamic.KindService, Name: one.Name()}).String(),
		})
	}
	return list
}
