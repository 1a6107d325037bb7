package inject

// Reason says why a pod is injected, or why not.
type Reason struct {
	// Code is stable: metrics, logs and tests may depend on it.
	Code Code
	// Text is a sentence without capital and full stop for users. It names the label, annotation or selector that decided.
	Text string
}

// Code is the kind of a Reason.
type Code string

// The codes of pods that are injected.
const (
	// CodeLabel is for a label that asks for it.
	CodeLabel Code = "Label"
	// CodeAnnotation is for an annotation that asks for it.
	CodeAnnotation Code = "Annotation"
	// CodeAlwaysSelector is for one of alwaysInjectSelector that matches.
	CodeAlwaysSelector Code = "AlwaysInjectSelector"
	// CodePolicy is for the policy enabled.
	CodePolicy Code = "Policy"
	// CodeRemoved is for a pod from which what was injected before is removed, since the templates add nothing any more.
	CodeRemoved Code = "Removed"
)

// The codes of pods that stay as they are.
const (
	// CodeHostNetwork is for a pod in the network of its node.
	CodeHostNetwork Code = "HostNetwork"
	// CodeIgnoredNamespace is for a namespace among ignoredNamespaces.
	CodeIgnoredNamespace Code = "IgnoredNamespace"
	// CodeLabelOff is for a label that forbids it.
	CodeLabelOff Code = "LabelOff"
	// CodeAnnotationOff is for an annotation that forbids it.
	CodeAnnotationOff Code = "AnnotationOff"
	// CodeNeverSelector is for one of neverInjectSelector that matches.
	CodeNeverSelector Code = "NeverInjectSelector"
	// CodePolicyOff is for the policy disabled.
	CodePolicyOff Code = "PolicyOff"
	// CodeNothing is for templates that render nothing for this pod.
	CodeNothing Code = "Nothing"
	// CodeUnchanged is for a pod that has been injected before, by the same configuration.
	CodeUnchanged Code = "Unchanged"
)

// injects reports whether the decision is to inject.
func (c Code) injects() bool {
	switch c {
	case CodeLabel, CodeAnnotation, CodeAlwaysSelector, CodePolicy:
		return true
	default:
		return false
	}
}
