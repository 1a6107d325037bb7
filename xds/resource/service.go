package resource

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// translator translates one published service with those that it is composed of.
type translator struct {
	lookup func(string) *dynamic.Service
	// path is the services that are being translated, from the published one on.
	path []string
	// names are the services that were looked up.
	names map[string]bool
	// targets and clusters are what was translated, by the names of services. A service of services has a cluster only
	// when it is one.
	targets  map[string]*target
	clusters map[string]*cluster
}

func newTranslator(lookup func(string) *dynamic.Service) *translator {
	return &translator{
		lookup: lookup, names: map[string]bool{}, targets: map[string]*target{}, clusters: map[string]*cluster{},
	}
}

// target translates a service.
func (t *translator) target(name string, service *dynamic.Service) (*target, error) {
	if to := t.targets[name]; to != nil {
		return to, nil
	}
	if err := t.enter(name, service); err != nil {
		return nil, err
	}
	defer t.leave()
	var to *target
	var err error
	switch {
	case service.LoadBalancer != nil:
		to, err = t.loadBalancer(name, service.LoadBalancer)
	case service.Weighted != nil:
		to, err = t.weighted(name, service.Weighted)
	case service.HighestRandomWeight != nil:
		to, err = t.highestRandomWeight(name, service.HighestRandomWeight)
	case service.Mirroring != nil:
		to, err = t.mirroring(name, service.Mirroring)
	case service.Failover != nil:
		to, err = t.failover(name, service.Failover)
	case service.Environment != nil:
		to, err = t.environment(name, service.Environment)
	case service.Canary != nil:
		err = errors.New("it is a canary service, whose rules have no counterpart in xDS")
	case service.DirectResponse != nil:
		err = errors.New("it is a directResponse, which has no endpoints")
	}
	if err != nil {
		return nil, err
	}
	t.targets[name] = to
	return to, nil
}

// enter checks what all kinds of services have in common, and adds a service to the path.
func (t *translator) enter(name string, service *dynamic.Service) error {
	if start := slices.Index(t.path, name); start >= 0 {
		loop := slices.Concat(t.path[start:], []string{name})
		return errors.New("it refers to itself: " + strings.Join(loop, " -> "))
	}
	if name == "" || !printable(name) {
		return fmt.Errorf("its name %q is not text", name)
	}
	switch kinds := service.Kinds(); {
	case len(kinds) != 1:
		return fmt.Errorf("it has %d kinds, and a service has exactly one", len(kinds))
	case len(service.Middlewares) > 0:
		return errors.New("clients would bypass its middlewares")
	}
	t.path = append(t.path, name)
	return nil
}

func (t *translator) leave() { t.path = t.path[:len(t.path)-1] }

// find returns the service that another one refers to, with its qualified name.
func (t *translator) find(parent, reference string) (string, *dynamic.Service, error) {
	if reference == "" {
		return "", nil, errors.New("it names no service")
	}
	name := qualify(reference, providerOf(parent))
	t.names[name] = true
	service := t.lookup(name)
	if service == nil {
		return "", nil, fmt.Errorf("%s is unknown or disabled", refOf(name))
	}
	return name, service, nil
}

// child translates the service that another one refers to.
func (t *translator) child(parent, reference string) (*target, error) {
	name, service, err := t.find(parent, reference)
	if err != nil {
		return nil, err
	}
	to, err := t.target(name, service)
	if err == nil && to.choice != nil {
		err = errors.New("it is an environment service, and clients choose by a header only for the service that they ask for")
	}
	if err != nil {
		return nil, of(name, err)
	}
	return to, nil
}

// of returns an error with the service whose it is.
func of(name string, err error) error { return fmt.Errorf("%s: %w", refOf(name), err) }

// refOf returns a service as messages name it.
func refOf(name string) string { return dynamic.Ref{Kind: dynamic.KindService, Name: name}.String() }

// used returns the sorted names of the clusters that a target needs.
func (t *translator) used(to *target) []string {
	var names []string
	add := func(name string) {
		names = append(names, name)
		names = append(names, t.clusters[name].members...)
	}
	for _, one := range to.all() {
		for _, part := range one.splits {
			add(part.cluster)
		}
		for _, mirror := range one.mirrors {
			add(mirror.GetCluster())
		}
	}
	if to.choice != nil {
		for _, own := range to.choice.named() {
			add(own)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
