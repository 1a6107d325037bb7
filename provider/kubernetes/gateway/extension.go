package gateway

import (
	"strings"
	"unicode"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// middlewareGroups returns the groups whose Middlewares are filters.
func middlewareGroups() []string { return []string{v1alpha1.GroupSluice, v1alpha1.GroupTraefik} }

// middlewareName returns the name of a Middleware of the crd provider: NAMESPACE-NAME@kubernetescrd, with one hyphen
// for each run of what is neither a letter nor a digit.
func middlewareName(namespace, name string) string {
	return strings.Join(strings.FieldsFunc(namespace+"-"+name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), "-") + "@" + crd.Name
}
