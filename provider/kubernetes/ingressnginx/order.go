package ingressnginx

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// Compare orders Ingresses as ingress-nginx does: the oldest first, and those of one second by NAMESPACE/NAME,
// descending. The first one decides wherever two Ingresses say something about the same host or Service.
func Compare(a, b *networkingv1.Ingress) int {
	switch before, after := a.CreationTimestamp, b.CreationTimestamp; {
	case before.Time.Before(after.Time):
		return -1
	case after.Time.Before(before.Time):
		return 1
	}
	return strings.Compare(b.Namespace+"/"+b.Name, a.Namespace+"/"+a.Name)
}
