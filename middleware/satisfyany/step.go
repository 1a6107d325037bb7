package satisfyany

import (
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// step is a satisfyAny with the state of one owner.
type step struct {
	any     *SatisfyAny
	members []Member
	// own are for each member the names of the headers that it never takes from the client.
	own [][]string
}

// NoRetain implements httpio.NoRetainer.
func (*step) NoRetain() {}

// Wrap returns a handler that calls next for requests that a member lets in.
func (s *step) Wrap(next http.Handler) http.Handler {
	h := &handler{any: s.any, next: stripping{next: next, names: s.others(-1)}}
	for i, member := range s.members {
		chain := http.Handler(end{admits: member.Admits, next: stripping{next: next, names: s.others(i)}})
		if len(member.Steps) == 0 {
			chain = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer.Refuse(w, r, http.StatusForbidden, s.any.name, "a chain without middlewares lets nothing in")
			})
		}
		for _, one := range slices.Backward(member.Steps) {
			if signs, ok := one.(signer); ok && h.signsIn == nil {
				h.signsIn = signs
			}
			chain = one.Wrap(chain)
		}
		h.members = append(h.members, chain)
	}
	return h
}

// others returns the names that are removed from requests that a member lets in: those of the headers that the others
// would have replaced.
func (s *step) others(member int) []string {
	var names []string
	for i, own := range s.own {
		for _, name := range own {
			if i != member && !slices.Contains(names, name) && (member < 0 || !slices.Contains(s.own[member], name)) {
				names = append(names, name)
			}
		}
	}
	return names
}

// stripping removes headers of the client, also from trailers, so that it cannot forge what a member sets that has not
// decided.
type stripping struct {
	next  http.Handler
	names []string
}

// ServeHTTP passes the request on.
func (s stripping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(s.names) > 0 {
		forwarded.RemoveHeader(r.Header, s.names...)
		forwarded.RemoveTrailers(r, s.names...)
	}
	s.next.ServeHTTP(w, r)
}

// end is behind the last step of a member.
type end struct {
	admits bool
	next   http.Handler
}

// ServeHTTP notes that the member has let the request pass. It calls next if it is let in by that.
func (e end) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	collecting := collectorOf(w)
	if !e.admits {
		collecting.declined = true
		return
	}
	collecting.release()
	if w == http.ResponseWriter(collecting) {
		w = collecting.ResponseWriter
	}
	e.next.ServeHTTP(w, r)
}

// handler is a satisfyAny in front of a service.
type handler struct {
	any     *SatisfyAny
	members []http.Handler
	next    http.Handler
	signsIn signer
}

// signer is a step with a URL where clients are sent in place of 401.
type signer interface {
	// SignIn returns the URL; empty for none.
	SignIn(r *http.Request) string
}

// NoRetain implements httpio.NoRetainer.
func (*handler) NoRetain() {}

// signIn makes a refusal with 401 a redirect, if a member has a URL for it. The challenges are kept, as in nginx.
func (h *handler) signIn(refused *refusal, r *http.Request) {
	if h.signsIn == nil {
		return
	}
	if location := h.signsIn.SignIn(r); location != "" {
		refused.status = http.StatusFound
		refused.header = http.Header{
			"Location": {location}, "Www-Authenticate": refused.header["Www-Authenticate"],
		}
	}
}

// ServeHTTP has the members decide, one after the other.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	record := telemetry.RecordFrom(r.Context())
	reason, username := record.Reason, record.Username
	collecting := &collector{ResponseWriter: w}
	var refused refusal
	why := ""
	for _, member := range h.members {
		record.Reason, record.Username = reason, username // Those of a member that refuses are not the request's.
		collecting.begin()
		member.ServeHTTP(collecting, r)
		switch {
		case collecting.released:
			return
		case collecting.declined:
		case collecting.status == 0:
			return // The client has left.
		case !refused.add(collecting):
			h.any.refused.Add(1)
			refused.status, refused.header = collecting.status, refused.with(collecting.header)
			refused.send(w)
			return
		default:
			why = record.Reason
		}
	}
	if refused.status == 0 {
		record.Reason, record.Username = reason, username
		h.next.ServeHTTP(w, r)
		return
	}
	h.any.refused.Add(1)
	record.Reason = why
	if refused.status == http.StatusUnauthorized {
		h.signIn(&refused, r)
	}
	refused.send(w)
}
