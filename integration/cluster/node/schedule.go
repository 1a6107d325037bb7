package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// allows reports whether a pod may run on a node: it is bound to it, or its selectors match. Only the operators In and
// NotIn are supported.
func allows(pod *corev1.Pod, node *corev1.Node) bool {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName == node.Name
	}
	for key, value := range pod.Spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return true
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return true
	}
	return slices.ContainsFunc(required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return refuses(r, node.Labels[r.Key])
		}) &&
			!slices.ContainsFunc(term.MatchFields, func(r corev1.NodeSelectorRequirement) bool { return refuses(r, node.Name) })
	})
}

// refuses reports whether a requirement excludes a value; the only supported field is the name.
func refuses(requirement corev1.NodeSelectorRequirement, value string) bool {
	listed := slices.Contains(requirement.Values, value)
	switch requirement.Operator {
	case corev1.NodeSelectorOpIn:
		return !listed
	case corev1.NodeSelectorOpNotIn:
		return listed
	}
	return false
}
