package crd

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// DefaultThrottle is the least time between two configurations in a busy cluster; throttleDuration overrides it. Large
// configurations make it longer, up to 100 ms.
const DefaultThrottle = 10 * time.Millisecond

// Provider is the provider of custom resources. Its zero value is not usable, see New.
type Provider struct {
	translator translator
	memory     *translation.Memory
	throttle   time.Duration
	// kinds are the watches of what is translated, by the Kind of their sources; others those of what it refers to.
	kinds  map[string]kindWatch
	others []watch
	// followers are called for each change of an object.
	followers []func(kind, namespace, name string)
	// statusChanged holds a value when the status of a watch may have changed.
	statusChanged chan struct{}
	// trusted says that everything that is needed has been read, and nothing of it dropped since; it belongs to Provide.
	trusted bool
}

// New returns a provider for the objects that the options select in a cluster, whose connection must have the types of
// v1alpha1 (v1alpha1.AddToScheme), and starts watching them when the cluster runs. Counters may be nil. It fails for a
// label selector that cannot be understood.
//
// Environments says which Services are divided into environments; nil divides none.
//
// With checks, a route whose rule becomes invalid keeps the name of its router; without them, the name always follows
// from the rule.
func New(
	options static.KubernetesCRD, cluster *client.Cluster, environments backend.EnvironmentWatch,
	counters translation.Counters, checks RuleChecks,
) (*Provider, error) {
	if _, err := labels.Parse(options.LabelSelector); err != nil {
		return nil, fmt.Errorf("providers.kubernetesCRD.labelSelector: %w", err)
	}
	known := kinds()
	p := &Provider{
		throttle:      DefaultThrottle,
		memory:        translation.New(Name, known, counters),
		kinds:         make(map[string]kindWatch, len(known)),
		statusChanged: make(chan struct{}, 1),
	}
	if given := time.Duration(options.ThrottleDuration); given > 0 {
		p.throttle = given
	}
	options.Namespaces = slices.Clone(options.Namespaces)
	p.translator = translator{options: options, source: cluster.Source(), objects: p.watchReferences(cluster, options)}
	if checks != nil {
		p.translator.last = &lastNames{checks: checks, bySource: map[translation.Source]routerNames{}}
	}
	p.watchKinds(cluster, client.Scope{Namespaces: options.Namespaces, LabelSelector: options.LabelSelector})
	cluster.OnStatus(p.wake)
	if environments != nil {
		p.translator.environments = environments
		p.others = append(p.others, environments)
		environments.OnStatus(p.wake)
		environments.Notify(func(namespace, service string) {
			p.memory.Touch(translation.Source{Kind: backend.KindEnvironment, Namespace: namespace, Name: service})
		})
	}
	return p, nil
}

// wake notes that the status of a watch may have changed. It returns at once.
func (p *Provider) wake() {
	select {
	case p.statusChanged <- struct{}{}:
	default:
	}
}

// references is the Lookup of a provider: its watches. Its nodes are nil when nodes are not read.
type references struct {
	custom     func(group, kind, namespace, name string) metav1.Object
	services   *client.Watched[*corev1.Service]
	secrets    *client.Watched[*corev1.Secret]
	configMaps *client.Watched[*corev1.ConfigMap]
	nodes      *client.Watched[*corev1.Node]
}

// Custom implements Lookup.
func (r *references) Custom(group, kind, namespace, name string) metav1.Object {
	return r.custom(group, kind, namespace, name)
}

// Service implements Lookup.
func (r *references) Service(namespace, name string) *corev1.Service {
	object, _ := r.services.Get(namespace, name)
	return object
}

// Secret implements Lookup.
func (r *references) Secret(namespace, name string) *corev1.Secret {
	object, _ := r.secrets.Get(namespace, name)
	return object
}

// ConfigMap implements Lookup.
func (r *references) ConfigMap(namespace, name string) *corev1.ConfigMap {
	object, _ := r.configMaps.Get(namespace, name)
	return object
}

// Nodes implements Lookup.
func (r *references) Nodes() []*corev1.Node {
	if r.nodes == nil {
		return nil
	}
	return slices.Collect(r.nodes.All())
}
