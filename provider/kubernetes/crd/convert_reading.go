package crd

import (
	"iter"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// reading is the translation of one object that becomes one dynamic object: what it may read, and where findings go.
// References without a namespace of their own stay in the object's namespace.
type reading struct {
	t         *translator
	namespace string
	ref       dynamic.Ref
	result    *translation.Result
}

// spec makes a document of a manifest's spec. What of it did not fit its type is a finding: a default must not stand in
// for an option that was meant to protect something.
func (r *reading) spec(spec any, misfit string) *document.Node {
	if misfit != "" {
		r.wrong("", malformed(misfit))
	}
	node, err := tree(spec)
	if err != nil {
		r.wrong("", "cannot be read: "+err.Error())
	}
	return node
}

// decoded makes a dynamic object of a document, with findings for what is wrong with it.
func decoded[T any](r *reading, node *document.Node) *T {
	object, reasons := decode[T](&r.t.values, node)
	for _, reason := range reasons {
		r.wrong("", reason)
	}
	return object
}

// wrong keeps the object from being applied because of an option; an empty one means the object as a whole.
func (r *reading) wrong(option, reason string) {
	r.problem(option, &backend.Problem{Code: dynamic.CodeInvalidOption, Reason: reason})
}

func (r *reading) problem(option string, problem *backend.Problem) {
	reason := problem.Reason
	if option != "" {
		reason = option + ": " + reason
	}
	r.result.Quarantine(r.ref, problem.Code, reason, problem.Missing)
}

// named notes that an object of a kind is read for an option; it is false, with a finding, when the option names none.
func (r *reading) named(option, kind, name string) bool {
	if name == "" {
		r.wrong(option, "the name of a "+kind+" is needed")
		return false
	}
	r.result.AddNeed(kind, r.namespace, name)
	return true
}

// secret returns the Secret that an option names; nil, with a finding, when there is none.
func (r *reading) secret(option, name string) *corev1.Secret {
	if !r.named(option, backend.KindSecret, name) {
		return nil
	}
	secret := r.t.objects.Secret(r.namespace, name)
	if secret == nil {
		r.absent(option, backend.KindSecret, name)
	}
	return secret
}

// absent says that what an option names does not exist.
func (r *reading) absent(option, kind, name string) {
	r.problem(option, &backend.Problem{
		Code: dynamic.CodeMissingSecret, Missing: true,
		Reason: kind + " " + r.namespace + "/" + name + " does not exist",
	})
}

// unusable says that what an option names does not hold what it should.
func (r *reading) unusable(option, kind, name string, err error) {
	r.problem(option, &backend.Problem{
		Code: dynamic.CodeInvalidReference, Reason: kind + " " + r.namespace + "/" + name + " " + err.Error(),
	})
}

// authority returns the certificates of authorities in a Secret; empty, with a finding, when there are none.
func (r *reading) authority(option, name string) string {
	secret := r.secret(option, name)
	if secret == nil {
		return ""
	}
	text, err := secretAuthorities(secret)
	if err != nil {
		r.unusable(option, backend.KindSecret, name, err)
	}
	return text
}

// authorityOfConfigMap returns the certificates of authorities in a ConfigMap; empty, with a finding, when there are
// none.
func (r *reading) authorityOfConfigMap(option, name string) string {
	if !r.named(option, backend.KindConfigMap, name) {
		return ""
	}
	configMap := r.t.objects.ConfigMap(r.namespace, name)
	if configMap == nil {
		r.absent(option, backend.KindConfigMap, name)
		return ""
	}
	text, err := configMapAuthorities(configMap)
	if err != nil {
		r.unusable(option, backend.KindConfigMap, name, err)
	}
	return text
}

// keyPair returns the certificate and key of a Secret; it is false, with a finding, when there are none.
func (r *reading) keyPair(option, secret string) (dynamic.Certificate, bool) {
	if !r.named(option, backend.KindSecret, secret) {
		return dynamic.Certificate{}, false
	}
	pair, problem := r.t.pairs.KeyPair(r.namespace, secret, r.t.objects)
	if problem != nil {
		r.problem(option, problem)
	}
	return pair, problem == nil
}

// distinct yields each name of a list once, with its first place. What a Secret holds may be a million times as long as
// its name, and is of no use twice.
func distinct(names []string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		seen := make(map[string]bool, len(names))
		for i, name := range names {
			if !seen[name] && !yield(i, name) {
				return
			}
			seen[name] = true
		}
	}
}

// indexed names one element of a list of an option.
func indexed(option string, index int) string { return option + "[" + strconv.Itoa(index) + "]" }
