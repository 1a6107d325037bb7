package crd

import (
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// reference returns the name by which an object in the namespace from refers to another one: a middleware, a servers
// transport or TLS options (whose name is then made by tlsName). What is what is referred to, in messages. A problem is
// final: the reference must not be followed.
//
// A name with an @ is that of any provider's object, as crossProviderNamespaces permits. NAMESPACE-NAME@kubernetescrd
// does not show where the namespace ends, so it needs allowCrossNamespace even for the own one.
func (t *translator) reference(
	from, what string, ref v1alpha1.ObjectRef, nameOf func(namespace, name string) string,
) (string, *backend.Problem) {
	if ref.Name == "" {
		return "", &backend.Problem{Code: dynamic.CodeInvalidReference, Reason: "a reference to a " + what + " has no name"}
	}
	if strings.Contains(ref.Name, "@") {
		return ref.Name, t.mayLeave(from, what, ref.Name)
	}
	namespace, problem := t.namespace(from, what, ref.Namespace, ref.Name)
	return nameOf(namespace, ref.Name), problem
}

// namespace returns the namespace of what an object in the namespace from refers to.
func (t *translator) namespace(from, what, namespace, name string) (string, *backend.Problem) {
	if namespace == "" || namespace == from {
		return from, nil
	}
	if !t.options.AllowCrossNamespace {
		return namespace, &backend.Problem{
			Code:   dynamic.CodeReferenceNotPermitted,
			Reason: what + " " + namespace + "/" + name + " is in another namespace, which allowCrossNamespace must permit",
		}
	}
	return namespace, nil
}

// administration is the service that changes the running process. Unlike others of Sluice's own, it is no service of
// every namespace by default.
const administration = "admin@internal"

// mayLeave reports whether an object in the namespace from may refer to name@provider.
func (t *translator) mayLeave(from, what, name string) *backend.Problem {
	if strings.HasSuffix(name, "@"+Name) && !t.options.AllowCrossNamespace {
		return &backend.Problem{
			Code: dynamic.CodeReferenceNotPermitted,
			Reason: what + " " + name + " may be in another namespace, which allowCrossNamespace must permit; " +
				"name and namespace name it without that",
		}
	}
	if name == administration && !slices.Contains(t.options.CrossProviderNamespaces, from) {
		return &backend.Problem{
			Code: dynamic.CodeReferenceNotPermitted,
			Reason: what + " " + name + " changes the process for all namespaces, and the namespace " + from +
				" is not in crossProviderNamespaces",
		}
	}
	if t.options.CrossProviderNamespaces != nil && !slices.Contains(t.options.CrossProviderNamespaces, from) {
		return &backend.Problem{
			Code: dynamic.CodeReferenceNotPermitted,
			Reason: what + " " + name + " is another provider's, and the namespace " + from +
				" is not in crossProviderNamespaces",
		}
	}
	return nil
}

// middlewares returns the names of middlewares, in order, and the first problem; those with a problem are among them.
func (t *translator) middlewares(from string, refs []v1alpha1.ObjectRef) ([]string, *backend.Problem) {
	var first *backend.Problem
	names := make([]string, 0, len(refs))
	for _, ref := range refs {
		name, problem := t.reference(from, "middleware", ref, objectName)
		if problem != nil && first == nil {
			first = problem
		}
		if name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = nil
	}
	return names, first
}
