package crd

import (
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// declared returns the objects of one type that a result declares.
func declared[T any](result translation.Result) map[string]*T {
	out := map[string]*T{}
	for ref, object := range result.Objects {
		if typed, ok := object.(*T); ok {
			out[ref.Name] = typed
		}
	}
	return out
}
