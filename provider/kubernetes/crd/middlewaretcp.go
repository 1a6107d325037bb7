package crd

import (
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// middlewareTCP translates a MiddlewareTCP, whose options are those of files.
func (t *translator) middlewareTCP(
	result *translation.Result, source translation.Source, object *v1alpha1.MiddlewareTCP,
) {
	r := &reading{
		t: t, namespace: source.Namespace, result: result,
		ref: dynamic.Ref{Kind: dynamic.KindTCPMiddleware, Name: objectName(source.Namespace, source.Name)},
	}
	result.Put(r.ref, decoded[dynamic.TCPMiddleware](r, r.spec(&object.Spec, object.Spec.Malformed)))
}
