package service

import (
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

// WeightedOptions are the options of a weighted service.
type WeightedOptions struct {
	// Name is the service's qualified name.
	Name string
	// Children share the requests by their weights.
	Children []Child
	// Cookie makes the service sticky; without a name it is not.
	Cookie sticky.Cookie
	// HealthCheck passes over children that are down (healthCheck); without it all count as up.
	HealthCheck bool
	// State is the state that outlives the handler.
	State *State
}

// Weighted hands each request to one of several services: smoothly by weight, or to the one that the client's
// cookie names.
type Weighted struct {
	options WeightedOptions
	turns   *picker.Rotation
	// stuck maps cookie values to children, values are the current ones of the children.
	stuck  map[string]stuck
	values []string
}

// stuck is a child, and whether the cookie value is of the current format.
type stuck struct {
	child   int
	current bool
}

// maxWeight keeps sums of weights from overflow.
const maxWeight = 1 << 24

// NewWeighted returns the handler of a weighted service.
func NewWeighted(options WeightedOptions) *Weighted {
	options.Children = slices.Clone(options.Children)
	w := &Weighted{options: options}
	weights := make([]int, len(options.Children))
	for i := range options.Children {
		weights[i] = min(max(options.Children[i].Weight, 0), maxWeight)
		options.Children[i].Weight = weights[i]
	}
	var up func(int) bool
	if options.HealthCheck {
		up = w.up
	}
	w.turns = picker.NewRotation(weights, up, &options.State.rotation)
	if options.Cookie != (sticky.Cookie{}) {
		w.remember()
	}
	return w
}

// remember prepares the cookie's values. Current values take precedence over older formats, and children over
// those listed after them.
func (w *Weighted) remember() {
	w.stuck = map[string]stuck{}
	know := func(value string, of stuck) {
		if _, taken := w.stuck[value]; !taken && w.options.Children[of.child].Weight > 0 {
			w.stuck[value] = of
		}
	}
	for i, child := range w.options.Children {
		id := sticky.ID(child.Name)
		w.values = append(w.values, id)
		know(id, stuck{child: i, current: true})
	}
	for i, child := range w.options.Children {
		for _, alias := range sticky.Aliases(child.Name) {
			know(alias, stuck{child: i})
		}
	}
}

// Up reports whether a child with a weight above 0 is up.
func (w *Weighted) Up() bool { return anyUp(w.options.Children) }

// ServeHTTP hands the request on. It answers 503 when there is no child with a weight above 0, or with health
// checks none that is up.
func (w *Weighted) ServeHTTP(writer http.ResponseWriter, r *http.Request) {
	if w.stuck == nil {
		w.serve(writer, r, w.turns.Next())
		return
	}
	child, current := w.keeper(r)
	if child < 0 {
		child = w.turns.Next()
	}
	if child >= 0 && !current {
		addCookie(writer.Header(), w.options.Cookie.Set(w.values[child], r))
	}
	w.serve(writer, r, child)
}

// addCookie adds a cookie to a response, unless it is none.
func addCookie(header http.Header, cookie string) {
	if cookie != "" {
		header.Add("Set-Cookie", cookie)
	}
}

func (w *Weighted) serve(writer http.ResponseWriter, r *http.Request, child int) {
	if child >= 0 {
		w.options.Children[child].Handler.ServeHTTP(writer, r)
		return
	}
	reason := "no service of the weighted service is up"
	if !w.options.HealthCheck || !w.turns.Weighs() {
		reason = "all services of the weighted service have weight 0"
	}
	refuse(writer, r, w.options.Name, reason)
}

// keeper returns the child that the client's cookie names, or -1, and whether the cookie is current.
func (w *Weighted) keeper(r *http.Request) (child int, current bool) {
	for value := range w.options.Cookie.Values(r) {
		if known, ok := w.stuck[value]; ok && w.may(known.child) {
			return known.child, known.current
		}
	}
	return -1, false
}

// may reports whether a child may get a request.
func (w *Weighted) may(child int) bool {
	return !w.options.HealthCheck || w.up(child)
}

func (w *Weighted) up(child int) bool { return w.options.Children[child].up() }
