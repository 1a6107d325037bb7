// Package resolvers adds the certificate resolvers to the API: /api/resolvers.
//
// It shows what resolvers have, order and fail to obtain, also certificates that do not exist yet. The answer has no
// keys and no accounts.
package resolvers

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are the data sources of the part. All are required.
type Options struct {
	// Status returns the states of the resolvers, by name.
	Status func() []acme.ResolverStatus
	// Logger logs responses that cannot be encoded.
	Logger telemetry.Logger
}

// List is the answer of /api/resolvers.
type List struct {
	// Resolvers are all resolvers, by name.
	Resolvers []Resolver `json:"resolvers"`
	// Certificates are those of the page: first those that fail, then those that are ordered or due, by their expiry.
	Certificates []acme.Status `json:"certificates"`
}

// Resolver is a certificate resolver.
type Resolver struct {
	Name string `json:"name"`
	// Fault is why the resolver cannot work at all.
	Fault string `json:"fault,omitempty"`
	// Failures, Last and Next are those of the authority: while it fails, all orders wait.
	Failures int           `json:"failures,omitempty"`
	Last     *acme.Failure `json:"last,omitempty"`
	Next     time.Time     `json:"next,omitzero"`
	// States counts the certificates by state.
	States map[string]int `json:"states"`
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
	api.Get(root, prefix+"/api/resolvers", p.list)
}

// list returns all resolvers with a page of their certificates. The filters are resolver, state, and search, in names
// and problems.
func (p *Part) list(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		p.refuse(w, "query: "+err.Error())
		return
	}
	answer := Show(p.options.Status())
	resolver, state, search := query.Get("resolver"), query.Get("state"), strings.ToLower(query.Get("search"))
	kept := slices.DeleteFunc(answer.Certificates, func(one acme.Status) bool {
		return resolver != "" && one.Resolver != resolver || state != "" && one.State != state || !found(one, search)
	})
	if answer.Certificates, err = api.Paged(w.Header(), query, kept); err != nil {
		p.refuse(w, err.Error())
		return
	}
	p.write(w, http.StatusOK, answer)
}

// found reports whether a text in lower case is in the names of a certificate or in its last problem.
func found(one acme.Status, text string) bool {
	texts := one.Names
	if one.Last != nil {
		texts = append(slices.Clone(texts), one.Last.String())
	}
	return strings.Contains(strings.ToLower(strings.Join(texts, "\n")), text)
}

func (p *Part) refuse(w http.ResponseWriter, message string) {
	p.write(w, http.StatusBadRequest, api.Problem{Message: message})
}

// Show returns resolvers with all certificates, in the order of List.
func Show(status []acme.ResolverStatus) List {
	list := List{Resolvers: make([]Resolver, 0, len(status)), Certificates: []acme.Status{}}
	for _, one := range status {
		shown := Resolver{
			Name: one.Name, Fault: one.Fault, Failures: one.Failures, Last: one.Last, Next: one.Next,
			States: map[string]int{},
		}
		for _, c := range one.Certificates {
			shown.States[c.State]++
		}
		list.Resolvers = append(list.Resolvers, shown)
		list.Certificates = append(list.Certificates, one.Certificates...)
	}
	slices.SortStableFunc(list.Certificates, func(a, b acme.Status) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.NotAfter.Compare(b.NotAfter), slices.Compare(a.Names, b.Names))
	})
	return list
}

// rank orders the states of certificates.
func rank(one acme.Status) int {
	order := [...]string{
		acme.StateFailing, acme.StateOrdering, acme.StatePending, acme.StateDue, acme.StateValid, acme.StateUnused,
	}
	return slices.Index(order[:], one.State)
}
