package virtualenvironment

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// The names of the API, which are those of KT-env.
const (
	Group    = "env.alibaba.com"
	Version  = "v1alpha2"
	Kind     = "VirtualEnvironment"
	Resource = "virtualenvironments"
)

// GroupVersion returns the API that serves VirtualEnvironments.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: Version} }

// AddToScheme registers the types of the API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(), &VirtualEnvironment{})
	scheme.AddKnownTypeWithName(GroupVersion().WithKind(Kind+"List"), &List{})
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}

// VirtualEnvironment divides the Services of its namespace by a label of their pods. All fields of KT-env have its
// meaning; fallback, exists and strict are additions of Sluice.
type VirtualEnvironment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec Spec `json:"spec"`
	// Status is what became of it, with the condition Accepted. The definition of KT-env has none.
	Status v1alpha1.Status `json:"status,omitempty"`
}

// List is a list of VirtualEnvironments, of the kind VirtualEnvironmentList.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []VirtualEnvironment `json:"items"`
}

// Spec is the specification of a VirtualEnvironment.
type Spec struct {
	// EnvHeader is the header of requests.
	EnvHeader EnvHeader `json:"envHeader"`
	// EnvLabel is the label of pods.
	EnvLabel EnvLabel `json:"envLabel"`
	// Fallback is what answers a tag without a subset: default, any or reject. Default: default with a default subset,
	// and any without one, as in KT-env.
	Fallback string `json:"fallback,omitempty"`
	// Exists says which environments exist: those with pods, ready or not (pods, the default), or with a ready one
	// (ready).
	Exists string `json:"exists,omitempty"`
	// Strict sends requests with a tag that no pod of the namespace has to the default subset, as KT-env does, instead
	// of to that of an ancestor.
	Strict bool `json:"strict,omitempty"`
}

// EnvHeader is the header with the tag of a request.
type EnvHeader struct {
	// Name is the name of the header. Default: X-Virtual-Env.
	Name string `json:"name,omitempty"`
	// AutoInject has no effect here: the sidecar template of the injector stamps requests.
	AutoInject bool `json:"autoInject,omitempty"`
	// Aliases are further headers.
	Aliases []Alias `json:"aliases,omitempty"`
}

// Alias is a further header that can hold the tag.
type Alias struct {
	// Name is the name of the header.
	Name string `json:"name"`
	// Pattern is a regular expression for the whole value, in which Placeholder stands for the tag. Without one the whole
	// value is the tag.
	Pattern string `json:"pattern,omitempty"`
	// Placeholder is the text that stands for the tag. Default: (@).
	Placeholder string `json:"placeholder,omitempty"`
}

// EnvLabel is the label with the tag of a pod.
type EnvLabel struct {
	// Name is the key of the label. Default: virtual-env.
	Name string `json:"name,omitempty"`
	// Splitter is the character between the levels of a tag. Default: ".".
	Splitter string `json:"splitter,omitempty"`
	// DefaultSubset is the tag that answers requests whose tag has no subset. Default: none.
	DefaultSubset string `json:"defaultSubset,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (v *VirtualEnvironment) DeepCopyObject() runtime.Object {
	out := *v
	v.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.EnvHeader.Aliases = append([]Alias(nil), v.Spec.EnvHeader.Aliases...)
	v.Status.DeepCopyInto(&out.Status)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *List) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]VirtualEnvironment, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*VirtualEnvironment)
	}
	return &out
}
