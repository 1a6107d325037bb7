package endpoint

import (
	"fmt"
	"sync"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/virtualenvironment"
)

// Policies says how the Services of a namespace are divided into environments; *virtualenvironment.Provider is one.
type Policies interface {
	// Policy returns the policy of a namespace; nil if its Services are not divided.
	Policy(namespace string) *virtualenvironment.Policy
	// Notify has the function called with each namespace whose policy, objects or verdicts change.
	Notify(handle func(namespace string))
	// Namespaces returns the namespaces with a policy.
	Namespaces() []string
	// Configuration returns a new one with the origins of the objects that declare the policies, and the verdicts on them
	// in their order. Unread says for namespaces why the labels of their pods are not known.
	Configuration(unread map[string]string) *dynamic.Configuration
	// Status is pending until the policies have been read.
	Status() client.Status
}

// undivided are the policies of a cluster without any.
type undivided struct{}

// Policy returns nil.
func (undivided) Policy(string) *virtualenvironment.Policy { return nil }

// Notify does nothing.
func (undivided) Notify(func(string)) {}

// Namespaces returns none.
func (undivided) Namespaces() []string { return nil }

// Configuration returns an empty one.
func (undivided) Configuration(map[string]string) *dynamic.Configuration {
	return &dynamic.Configuration{}
}

// Status is synced.
func (undivided) Status() client.Status { return client.Status{State: dynamic.StateSynced} }

// Environments holds how the Services of a cluster are divided, for the providers whose objects refer to Services. The
// Provider that is made with it fills it. Its methods may be called from any goroutine.
type Environments struct {
	mu       sync.RWMutex
	services map[servicePort]*dynamic.Environment
	handlers []func(namespace, service string)
	waiting  []func()
	// collected is set when the Services that are divided at the start are known.
	collected bool
}

// servicePort is a port of a Service.
type servicePort struct {
	reference
	port int32
}

// NewEnvironments returns Environments for New.
func NewEnvironments() *Environments {
	return &Environments{services: map[servicePort]*dynamic.Environment{}}
}

// Environment returns how a port of a Service is divided; nil if it is not. The services of the subsets, and that of
// all endpoints, are keys of endpoint sets. The result must not be changed.
func (e *Environments) Environment(namespace, service string, port int32) *dynamic.Environment {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.services[servicePort{reference{namespace, service}, port}]
}

// Divided returns the ports of Services that are divided, as namespace/service:port, with their tags.
func (e *Environments) Divided() map[string][]string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	all := make(map[string][]string, len(e.services))
	for of, environment := range e.services {
		tags := make([]string, 0, len(environment.Subsets))
		for _, subset := range environment.Subsets {
			tags = append(tags, subset.Tag)
		}
		all[fmt.Sprintf("%s/%s:%d", of.namespace, of.name, of.port)] = tags
	}
	return all
}

// Notify has the function called with each Service whose division changes. It must return at once.
func (e *Environments) Notify(handle func(namespace, service string)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers = append(e.handlers, handle)
}

// Status is pending until the division of all Services is known. A cluster without VirtualEnvironments is synced.
func (e *Environments) Status() client.Status {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if !e.collected {
		return client.Status{State: dynamic.StatePending}
	}
	return client.Status{State: dynamic.StateSynced}
}

// OnStatus has the function called when the status changes. It must return at once.
func (e *Environments) OnStatus(handle func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, handle)
}

// set takes the divisions that have changed, and passes them on.
func (e *Environments) set(changed map[servicePort]*dynamic.Environment) {
	e.mu.Lock()
	for of, environment := range changed {
		if environment == nil {
			delete(e.services, of)
		} else {
			e.services[of] = environment
		}
	}
	handlers := e.handlers
	e.mu.Unlock()
	for of := range changed {
		for _, handle := range handlers {
			handle(of.namespace, of.name)
		}
	}
}

// begin notes that the division of all Services is known.
func (e *Environments) begin() {
	e.mu.Lock()
	waiting := e.waiting
	if e.collected {
		waiting = nil
	}
	e.collected = true
	e.mu.Unlock()
	for _, handle := range waiting {
		handle()
	}
}
