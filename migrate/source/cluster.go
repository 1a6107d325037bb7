package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// pageSize is the number of objects of one answer.
const pageSize = 500

// List reads the objects of a cluster, with requests that list alone. Ingresses are those of one namespace, or of all
// for the empty one; what they refer to is read in all. Values of Secrets are dropped.
//
// Kinds other than Ingresses that may not be listed are left out, and returned with the reasons.
func List(ctx context.Context, cluster *client.Cluster, namespace string) (*Objects, []string, error) {
	out := &Objects{}
	l := &lister{ctx: ctx, cluster: cluster}
	ingresses := list(l, client.Ingresses(), namespace)
	if len(l.missing) > 0 {
		return nil, nil, errors.New(l.missing[0])
	}
	for _, one := range ingresses {
		out.Ingresses = append(out.Ingresses, Ingress{Ingress: one})
	}
	out.Classes = list(l, client.IngressClasses(), "")
	out.Services = list(l, client.Services(), "")
	out.EndpointSlices = list(l, client.EndpointSlices(), "")
	out.ConfigMaps = list(l, client.WholeConfigMaps(), "")
	for _, one := range list(l, client.Secrets(), "") {
		out.Secrets = append(out.Secrets, named(one))
	}
	return out, l.missing, l.err
}

// ListNamespaces reads the Namespaces of a cluster, with their labels.
func ListNamespaces(ctx context.Context, cluster *client.Cluster) ([]*corev1.Namespace, error) {
	l := &lister{ctx: ctx, cluster: cluster}
	read := list(l, client.Namespaces(), "")
	if len(l.missing) > 0 {
		return nil, errors.New(l.missing[0])
	}
	return read, l.err
}

// named returns a Secret without its values.
func named(secret *corev1.Secret) Secret {
	maps.DeleteFunc(secret.Data, func(_ string, value []byte) bool { return len(value) == 0 })
	return Secret{secret.Namespace, secret.Name, slices.Sorted(maps.Keys(secret.Data))}
}

// lister lists resources until one fails otherwise than for missing rights.
type lister struct {
	ctx     context.Context
	cluster *client.Cluster
	missing []string
	err     error
}

// list returns all objects of a resource.
func list[T client.Object](l *lister, of client.Resource[T], namespace string) []T {
	if l.err != nil {
		return nil
	}
	rest, err := l.cluster.REST(of.GroupVersion)
	if err != nil {
		l.err = err
		return nil
	}
	var all []T
	options := metav1.ListOptions{Limit: pageSize, FieldSelector: of.FieldSelector}
	for {
		page := of.NewList()
		err := rest.Get().Namespace(namespace).Resource(of.Name).VersionedParams(&options, metav1.ParameterCodec).
			Do(l.ctx).Into(page)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			l.missing = append(l.missing, err.Error())
			return nil
		case err != nil:
			l.err = fmt.Errorf("%s: %w", of.Name, err)
			return nil
		}
		err = meta.EachListItem(page, func(one runtime.Object) error {
			if object, ok := one.(T); ok {
				all = append(all, object)
			}
			return nil
		})
		next, known := page.(metav1.ListInterface)
		if err != nil || !known || next.GetContinue() == "" {
			l.err = err
			return all
		}
		options.Continue = next.GetContinue()
	}
}
