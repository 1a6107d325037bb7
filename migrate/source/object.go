package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
)

// add adds an object of a kind that is read, unless it has been read before.
func (r *reader) add(object manifest.Object) {
	var store func() error
	switch object.GetAPIVersion() + " " + object.GetKind() {
	case "networking.k8s.io/v1 Ingress":
		store = func() error {
			read := &networkingv1.Ingress{}
			if err := decode(object, read); err != nil {
				return err
			}
			r.out.Ingresses = append(r.out.Ingresses, Ingress{read, object.File, object.Line})
			return nil
		}
	case "networking.k8s.io/v1 IngressClass":
		store = func() error { return into(object, &r.out.Classes) }
	case "v1 Namespace":
		store = func() error { return into(object, &r.out.Namespaces) }
	case "v1 Service":
		store = func() error { return into(object, &r.out.Services) }
	case "v1 ConfigMap":
		store = func() error { return into(object, &r.out.ConfigMaps) }
	case "discovery.k8s.io/v1 EndpointSlice":
		store = func() error { return into(object, &r.out.EndpointSlices) }
	case "v1 Secret":
		store = func() error { return r.secret(object) }
	default:
		return
	}
	key := fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
	if first, known := r.seen[key]; known {
		r.fault(manifest.Fault{
			File: object.File, Line: object.Line, Object: key,
			Reason: fmt.Sprintf("is declared in %s:%d already, and is read there", first.file, first.line),
		})
		return
	}
	r.seen[key] = place{object.File, object.Line}
	if err := store(); err != nil {
		r.fault(manifest.Fault{File: object.File, Line: object.Line, Object: key, Reason: err.Error()})
	}
}

// into decodes an object and appends it.
func into[T any](object manifest.Object, all *[]*T) error {
	read := new(T)
	if err := decode(object, read); err != nil {
		return err
	}
	*all = append(*all, read)
	return nil
}

func decode(object manifest.Object, into any) error {
	encoded, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	return json.Unmarshal(encoded, into)
}

// secret keeps the name of a Secret and those of its keys.
func (r *reader) secret(object manifest.Object) error {
	var read corev1.Secret
	if err := decode(object, &read); err != nil {
		return err
	}
	maps.DeleteFunc(read.Data, func(_ string, value []byte) bool { return len(value) == 0 })
	r.out.Secrets = append(r.out.Secrets, Secret{read.Namespace, read.Name, slices.Sorted(maps.Keys(read.Data))})
	return nil
}

// ConfigMap returns a ConfigMap, or nil.
func (o *Objects) ConfigMap(namespace, name string) *corev1.ConfigMap {
	for _, one := range o.ConfigMaps {
		if one.Namespace == namespace && one.Name == name {
			return one
		}
	}
	return nil
}

// Ready returns the Services, as NAMESPACE/NAME, that have an endpoint which is ready, by their EndpointSlices.
func (o *Objects) Ready() map[string]bool {
	ready := map[string]bool{}
	for _, slice := range o.EndpointSlices {
		for i := range slice.Endpoints {
			if is := slice.Endpoints[i].Conditions.Ready; is == nil || *is {
				ready[slice.Namespace+"/"+slice.Labels[discoveryv1.LabelServiceName]] = true
			}
		}
	}
	return ready
}
