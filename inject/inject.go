package inject

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluiceproxy/sluice/inject/jsonpatch"
)

// Configuration is a compiled, immutable configuration, with its results for the last pods. It is safe for concurrent
// use.
type Configuration struct {
	policy        policy
	istioKeys     bool
	hostNetwork   bool
	revision      string
	ignored       map[string]bool // namespaces
	never, always []selector
	annotations   map[string]string // for every injected pod
	templates     map[string]*compiled
	defaults      []string
	aliases       map[string][]string
	values        map[string]any
	results       *results
}

// Input is a pod with what is known about its request.
type Input struct {
	// Pod is the JSON of a pod, as it was received. The patch applies to exactly these bytes.
	Pod []byte
	// Namespace is that of the request. It counts when the pod names none.
	Namespace string
	// Environment are variables for the containers that templates add, in order: the pairs of the URL
	// /inject/KEY/VALUE/..., decoded. The keys cluster and net stand for ISTIO_META_CLUSTER_ID and ISTIO_META_NETWORK, as
	// in Istio; others are converted to upper case.
	Environment []KeyValue
	// NativeSidecars is whether the API server and the nodes support init containers with restartPolicy Always. An
	// annotation of the pod overrides it.
	NativeSidecars bool
	// Owner is the workload of the pod where the caller knows it, as for a pod template; nil means that the pod tells.
	Owner *Owner
}

// KeyValue is a variable.
type KeyValue struct{ Key, Value string }

// Result is what becomes of a pod. Templates and Metadata may be shared with other results and must not be changed.
type Result struct {
	// Injected is whether Patch changes the pod.
	Injected bool
	// Reason says why the pod is changed, or why not.
	Reason Reason
	// Patch is a JSON patch (RFC 6902); nil when nothing changes.
	Patch []byte
	// Warnings are for the user who creates the pod, in the order in which they were found.
	Warnings []string
	// Templates are the names of the templates that were run, in order, without aliases.
	Templates []string
	// Owner is the workload that the pod belongs to, or the pod itself.
	Owner Owner
	// Metadata is that of the pod as it was received.
	Metadata *metav1.ObjectMeta
}

// Inject decides whether a pod is injected, and returns the patch. It fails for JSON that is no pod, for annotations
// with malformed values, for an unknown template, and when a template fails on this pod or renders what is no pod.
func (c *Configuration) Inject(input Input) (Result, error) {
	key, keeps := c.results.key(&input)
	if keeps {
		if known, ok := c.results.get(key); ok {
			return known, nil
		}
	}
	result, err := c.inject(input)
	if keeps && err == nil {
		c.results.add(key, result, c.opaque(result.Templates))
	}
	return result, err
}

func (c *Configuration) inject(input Input) (Result, error) {
	received, err := decodeObject(input.Pod)
	if err != nil {
		return Result{}, fmt.Errorf("the pod cannot be read: %w", err)
	}
	pod, err := decodePod(input.Pod)
	if err != nil {
		return Result{}, fmt.Errorf("the pod cannot be read: %w", err)
	}
	if pod.Kind != "" && pod.Kind != "Pod" {
		return Result{}, errors.New("the object is not a pod")
	}
	if pod.Namespace == "" {
		pod.Namespace = input.Namespace
	}
	i := injection{config: c, input: input, received: received, pod: pod}
	i.result.Owner, i.result.Metadata = ownerOf(pod), &pod.ObjectMeta
	if input.Owner != nil {
		i.result.Owner = *input.Owner
	}
	if err := i.run(); err != nil {
		return Result{}, fmt.Errorf("pod %s: %w", podName(pod), err)
	}
	return i.result, nil
}

// podName names a pod in errors.
func podName(pod *corev1.Pod) string {
	name := pod.Name
	if name == "" {
		name = pod.GenerateName
	}
	return pod.Namespace + "/" + name
}

// injection is one call of Inject.
type injection struct {
	config   *Configuration
	input    Input
	received map[string]any // never changed
	pod      *corev1.Pod    // the pod as received; after restore, the one without earlier injections
	result   Result
}

func (i *injection) warn(format string, args ...any) {
	i.result.Warnings = append(i.result.Warnings, fmt.Sprintf(format, args...))
}

// run fills the result.
func (i *injection) run() error {
	reason := i.decide()
	if !reason.Code.injects() {
		i.result.Reason = reason
		return nil
	}
	names, err := i.templates()
	if err != nil {
		return err
	}
	native, err := i.nativeSidecars()
	if err != nil {
		return err
	}
	original, restored, err := i.restore()
	if err != nil {
		return err
	}
	i.result.Templates = names
	fragments, err := i.render(names, native)
	if err != nil {
		return err
	}
	if len(fragments) == 0 && !restored {
		i.result.Reason = Reason{CodeNothing, "the templates add nothing to this pod"}
		return nil
	}
	final, err := i.merge(original, fragments)
	if err != nil {
		return err
	}
	return i.compare(final, reason, len(fragments) == 0)
}

// compare makes the patch.
func (i *injection) compare(final map[string]any, reason Reason, removed bool) error {
	operations := jsonpatch.Difference(i.received, final)
	switch {
	case len(operations) == 0:
		i.result.Reason = Reason{CodeUnchanged, "the pod has been injected before, and nothing has changed"}
		return nil
	case removed:
		reason = Reason{CodeRemoved, "the templates add nothing to this pod any more"}
	}
	patch, err := jsonpatch.Marshal(operations)
	if err != nil {
		return err
	}
	i.result.Injected, i.result.Reason, i.result.Patch = true, reason, patch
	return nil
}

// merge returns the injected pod. The original is the pod without earlier injections; it is not changed.
func (i *injection) merge(original map[string]any, fragments []fragment) (map[string]any, error) {
	merged := runtime.DeepCopyJSON(original)
	if len(fragments) == 0 {
		return merged, nil
	}
	m := merger{injection: i, original: original, pod: merged}
	for _, one := range fragments {
		if err := m.add(one); err != nil {
			return nil, fmt.Errorf("template %q: %w", one.template, err)
		}
	}
	return m.complete()
}
