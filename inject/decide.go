package inject

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The labels and annotations of a pod that are read. Those of Istio count where istioKeys is true; the own ones win.
const (
	// InjectKey is the label, or the annotation, that switches the injection of a pod: "true" or "false".
	InjectKey = "inject.sluice.dev/inject"
	// TemplatesKey is the annotation with the templates of a pod, as a comma-separated list of names and aliases. It
	// replaces defaultTemplates.
	TemplatesKey = "inject.sluice.dev/templates"
	// NativeSidecarKey is the annotation that overrides [Input.NativeSidecars]: "true" or "false".
	NativeSidecarKey = "inject.sluice.dev/nativeSidecar"

	istioInjectKey        = "sidecar.istio.io/inject"
	istioTemplatesKey     = "inject.istio.io/templates"
	istioNativeSidecarKey = "sidecar.istio.io/nativeSidecar"
)

// policy is what happens to pods about which nothing else decides.
type policy string

const (
	policyEnabled  policy = "enabled"
	policyDisabled policy = "disabled"
)

// selector matches the labels of pods.
type selector struct {
	labels.Selector
	index int // in the list of the configuration
}

// compileSelectors returns the selectors of a list without the empty ones, which would match every pod.
func compileSelectors(list []metav1.LabelSelector) ([]selector, error) {
	var out []selector
	for index := range list {
		compiled, err := metav1.LabelSelectorAsSelector(&list[index])
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", index, err)
		}
		if !compiled.Empty() {
			out = append(out, selector{compiled, index})
		}
	}
	return out, nil
}

// decide returns whether the pod is injected, by the first rule that applies: the network of the node, the namespace,
// labels, annotations, neverInjectSelector, alwaysInjectSelector, policy.
func (i *injection) decide() Reason {
	c := i.config
	if i.pod.Spec.HostNetwork && !c.hostNetwork {
		return Reason{CodeHostNetwork, "the pod uses the network of its node (hostNetwork)"}
	}
	if c.ignored[i.pod.Namespace] {
		return Reason{CodeIgnoredNamespace, fmt.Sprintf("the namespace %s is among ignoredNamespaces", i.pod.Namespace)}
	}
	if reason, decided := i.switched("label", i.pod.Labels, CodeLabel, CodeLabelOff); decided {
		return reason
	}
	if reason, decided := i.switched("annotation", i.pod.Annotations, CodeAnnotation, CodeAnnotationOff); decided {
		return reason
	}
	set := labels.Set(i.pod.Labels)
	for _, one := range c.never {
		if one.Matches(set) {
			return Reason{CodeNeverSelector, fmt.Sprintf("neverInjectSelector[%d] matches: %s", one.index, one)}
		}
	}
	for _, one := range c.always {
		if one.Matches(set) {
			return Reason{CodeAlwaysSelector, fmt.Sprintf("alwaysInjectSelector[%d] matches: %s", one.index, one)}
		}
	}
	if c.policy == policyEnabled {
		return Reason{CodePolicy, "the policy is enabled, and nothing forbids it"}
	}
	return Reason{CodePolicyOff, "the policy is disabled, and nothing asks for it"}
}

// switched looks for the switch among labels or annotations. A value that is neither true nor false decides nothing and
// is warned about, unless it is empty.
func (i *injection) switched(where string, values map[string]string, on, off Code) (Reason, bool) {
	for _, key := range i.keys(InjectKey, istioInjectKey) {
		switch value := values[key]; value {
		case "":
		case "true":
			return Reason{on, fmt.Sprintf("the %s %s is true", where, key)}, true
		case "false":
			return Reason{off, fmt.Sprintf("the %s %s is false", where, key)}, true
		default:
			i.warn("the %s %s is neither true nor false and has no effect", where, key)
		}
	}
	return Reason{}, false
}

// keys returns the keys that are read for a purpose, those that win first.
func (i *injection) keys(own, istio string) []string {
	if !i.config.istioKeys {
		return []string{own}
	}
	return []string{own, istio}
}

// annotation returns the first of the annotations that the pod has.
func (i *injection) annotation(own, istio string) (key, value string, ok bool) {
	for _, key := range i.keys(own, istio) {
		if value, ok := i.pod.Annotations[key]; ok {
			return key, value, true
		}
	}
	return "", "", false
}

// templates returns the templates that the pod names, or those of the configuration, without aliases and repetitions.
func (i *injection) templates() ([]string, error) {
	names := i.config.defaults
	key, value, ok := i.annotation(TemplatesKey, istioTemplatesKey)
	if ok {
		names = nil
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	out, err := i.config.resolve(names)
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", key, err)
	}
	return out, nil
}

// nativeSidecars returns whether sidecars become init containers.
func (i *injection) nativeSidecars() (bool, error) {
	key, value, ok := i.annotation(NativeSidecarKey, istioNativeSidecarKey)
	switch {
	case !ok:
		return i.input.NativeSidecars, nil
	case value == "true":
		return true, nil
	case value == "false":
		return false, nil
	}
	return false, fmt.Errorf("annotation %s: %q is neither true nor false", key, value)
}
