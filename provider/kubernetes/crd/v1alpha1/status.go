package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status says what became of an object. Only objects of the group sluice.dev have one.
type Status struct {
	// ObservedGeneration is the generation of the spec that the conditions are about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Accepted and ResolvedRefs.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// The types of conditions in a Status.
const (
	// ConditionAccepted is true when the object is applied, as it is or with the reservations that the message names.
	ConditionAccepted = "Accepted"
	// ConditionResolvedRefs is true when everything exists that the object refers to.
	ConditionResolvedRefs = "ResolvedRefs"
)
