package acme

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

// The states of a certificate.
const (
	// StateValid is a certificate that is not due for renewal.
	StateValid = "valid"
	// StateDue is one that is due, and whose renewal has not failed.
	StateDue = "due"
	// StateOrdering is an order under way.
	StateOrdering = "ordering"
	// StatePending is one that has not been ordered yet.
	StatePending = "pending"
	// StateFailing is one whose last order has failed, or that waits for its authority, which fails.
	StateFailing = "failing"
	// StateUnused is one that no router needs, and that is not renewed.
	StateUnused = "unused"
)

// Status is the present state of a certificate of a resolver.
type Status struct {
	Resolver string `json:"resolver"`
	// Names are the names of the certificate, the main one first.
	Names []string `json:"names"`
	// State is valid, due, ordering, pending, failing or unused.
	State string `json:"state"`
	// NotBefore and NotAfter are those of the present certificate; zero without one.
	NotBefore time.Time `json:"notBefore,omitzero"`
	NotAfter  time.Time `json:"notAfter,omitzero"`
	// Serial is its serial number in hexadecimal.
	Serial string `json:"serial,omitempty"`
	// Renew is when it is renewed; WindowStart, WindowEnd and Explanation are what the authority suggests.
	Renew       time.Time `json:"renew,omitzero"`
	WindowStart time.Time `json:"windowStart,omitzero"`
	WindowEnd   time.Time `json:"windowEnd,omitzero"`
	Explanation string    `json:"explanation,omitempty"`
	// Failures counts the failures since the last success, Last is the last one, and Next is when the next attempt is
	// due.
	Failures int       `json:"failures,omitempty"`
	Last     *Failure  `json:"last,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	// Routers are the qualified names of the routers that need it.
	Routers []string `json:"routers,omitempty"`
}

// ResolverStatus is the present state of a resolver.
type ResolverStatus struct {
	Name string `json:"name"`
	// Fault is why the resolver cannot work at all.
	Fault string `json:"fault,omitempty"`
	// Failures, Last and Next are those of the authority: while it fails, all orders wait.
	Failures int       `json:"failures,omitempty"`
	Last     *Failure  `json:"last,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	// Certificates are in the order of their names.
	Certificates []Status `json:"certificates"`
}

// Status returns the state of all resolvers, by name.
func (m *Resolvers) Status() []ResolverStatus {
	all := make([]ResolverStatus, 0, len(m.resolvers)+len(m.broken))
	for name, err := range m.broken {
		all = append(all, ResolverStatus{Name: name, Fault: err.Error(), Certificates: []Status{}})
	}
	for _, r := range m.resolvers {
		all = append(all, r.status(time.Now()))
	}
	slices.SortFunc(all, func(a, b ResolverStatus) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// status describes a resolver at the time now.
func (r *resolver) status(now time.Time) ResolverStatus {
	out := ResolverStatus{Name: r.name, Certificates: []Status{}}
	r.mutex.Lock()
	if r.fault != nil {
		out.Fault = r.fault.Error()
	}
	running := maps.Clone(r.running)
	r.mutex.Unlock()
	own := r.state.schedule(resolverSchedule)
	out.Failures, out.Last, out.Next = own.Failures, own.Last, own.Next
	in := r.input(now)
	p := plan(in)
	routers := indexRouters(in.needs)
	known := map[string]*Status{}
	for _, c := range r.state.list() {
		known[c.id] = &Status{
			Resolver: r.name, Names: c.names, State: StateUnused, NotBefore: c.leaf.NotBefore, NotAfter: c.leaf.NotAfter,
			Serial: serialOf(c.leaf),
		}
	}
	for _, one := range p.jobs {
		s := known[one.id]
		if s == nil {
			s = &Status{Resolver: r.name, Names: one.names}
			known[one.id] = s
		}
		s.describe(one, in.schedules[one.id], in, own, now)
		if _, ordering := running[one.id]; ordering {
			s.State = StateOrdering
		}
		s.Routers = routers.of(one.names)
	}
	for _, id := range sortedKeys(known) {
		out.Certificates = append(out.Certificates, *known[id])
	}
	slices.SortStableFunc(out.Certificates, func(a, b Status) int { return slices.Compare(a.Names, b.Names) })
	return out
}

// describe fills in what a job and its schedule say.
func (s *Status) describe(one job, plan schedule, in input, authority schedule, now time.Time) {
	s.Failures, s.Last, s.Next = plan.Failures, plan.Last, one.start
	if one.renews != nil {
		s.Renew = plan.renewal(one.renews.leaf, in.lead(one.renews.leaf))
		s.WindowStart, s.WindowEnd, s.Explanation = plan.WindowStart, plan.WindowEnd, plan.Explanation
	}
	switch due := !one.start.After(now) || plan.Failures > 0; {
	case plan.Failures > 0 || due && authority.Failures > 0:
		s.State = StateFailing
		if authority.Next.After(s.Next) {
			s.Next = authority.Next
		}
		if s.Last == nil {
			s.Last = authority.Last
		}
	case one.renews == nil:
		s.State = StatePending
	case due:
		s.State = StateDue
	default:
		s.State = StateValid
	}
}

// routersByName are the routers that need a name, and those that need a name that a wildcard covers.
type routersByName map[string][]string

func indexRouters(needs []need) routersByName {
	index := routersByName{}
	for _, n := range needs {
		for _, name := range n.names {
			index[name] = append(index[name], n.routers...)
			if wildcard := wildcardOf(name); wildcard != "" {
				index[wildcard] = append(index[wildcard], n.routers...)
			}
		}
	}
	return index
}

// of returns the routers that need one of some names.
func (r routersByName) of(names []string) []string {
	var routers []string
	for _, name := range names {
		routers = append(routers, r[name]...)
	}
	slices.Sort(routers)
	return slices.Compact(routers)
}

// judge notes which routers name which resolver.
func (m *Resolvers) judge(byResolver map[string][]certificate.Demand) {
	m.mutex.Lock()
	m.demands = byResolver
	m.mutex.Unlock()
	m.notify()
}

// Changed returns a channel that holds a value when Verdicts returns others than before. With Verdicts it makes
// Resolvers a pipeline.VerdictSource.
func (m *Resolvers) Changed() <-chan struct{} { return m.changed }

// Verdicts returns a verdict on each router that waits for a certificate.
func (m *Resolvers) Verdicts() []dynamic.Verdict {
	var verdicts []dynamic.Verdict
	m.mutex.Lock()
	demands := m.demands
	m.mutex.Unlock()
	for _, name := range sortedKeys(m.broken) {
		for _, d := range demands[name] {
			verdicts = append(verdicts, waiting(d.Router, fmt.Sprintf("the certificate resolver %q cannot be used: %v", name,
				m.broken[name])))
		}
	}
	now := time.Now()
	for _, name := range sortedKeys(m.resolvers) {
		verdicts = append(verdicts, m.resolvers[name].verdicts(now, m.running.Load())...)
	}
	return slices.DeleteFunc(verdicts, func(v dynamic.Verdict) bool { return v.Ref.Name == "" })
}

// waiting returns the verdict on a router without a certificate.
func waiting(router, reason string) dynamic.Verdict {
	return dynamic.Verdict{
		Ref: dynamic.Ref{Kind: dynamic.KindRouter, Name: router}, Status: dynamic.Degraded,
		Code: dynamic.CodeCertificatePending, Reason: reason,
	}
}

// verdicts returns the verdicts on the routers of a resolver. One that does not run says only what is invalid.
func (r *resolver) verdicts(now time.Time, running bool) []dynamic.Verdict {
	r.mutex.Lock()
	w := r.wanted
	r.mutex.Unlock()
	var verdicts []dynamic.Verdict
	for _, router := range sortedKeys(w.invalid) {
		verdicts = append(verdicts, waiting(router, "tls: no certificate for these names: "+w.invalid[router]))
	}
	if !w.known || !running {
		return verdicts
	}
	status := r.status(now)
	reasons := map[string]string{}
	for _, c := range status.Certificates {
		reason := c.reason(status.Fault, now)
		for _, router := range c.Routers {
			if reason != "" && reasons[router] == "" {
				reasons[router] = reason
			}
		}
	}
	if status.Fault != "" {
		for _, n := range w.needs {
			for _, router := range n.routers {
				if reasons[router] == "" {
					reasons[router] = fmt.Sprintf("the certificate resolver %q cannot work: %s", r.name, status.Fault)
				}
			}
		}
	}
	for _, router := range sortedKeys(reasons) {
		verdicts = append(verdicts, waiting(router, reasons[router]))
	}
	return verdicts
}

// mostNames is how many names of a certificate a verdict has.
const mostNames = 3

// reason says what is wrong with a certificate; empty if nothing is.
func (s *Status) reason(fault string, now time.Time) string {
	names := strings.Join(s.Names[:min(len(s.Names), mostNames)], ", ")
	if len(s.Names) > mostNames {
		names += fmt.Sprintf(" and %d more", len(s.Names)-mostNames)
	}
	subject := "there is no certificate for " + names + " yet"
	if !s.NotAfter.IsZero() {
		subject = "the certificate for " + names + " is not renewed, and ends on " + s.NotAfter.UTC().Format(time.DateTime)
		if now.After(s.NotAfter) {
			subject = "the certificate for " + names + " ended on " + s.NotAfter.UTC().Format(time.DateTime)
		}
	}
	switch {
	case s.State == StateFailing && s.Last != nil:
		return fmt.Sprintf("%s: %s; next attempt at %s", subject, s.Last, s.Next.UTC().Format(time.DateTime))
	case fault != "" && s.State != StateUnused:
		return fmt.Sprintf("%s: %s", subject, fault)
	case s.NotAfter.IsZero():
		return subject + ": it is being obtained by resolver " + s.Resolver
	}
	return ""
}

// String returns the failure as one sentence.
func (f *Failure) String() string {
	if f.Type == "" {
		return f.Detail
	}
	return f.Type + ": " + f.Detail
}
