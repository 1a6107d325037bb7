package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func meta(annotations map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7", Generation: 3, Annotations: annotations,
		Labels:        map[string]string{"app": "web", discoveryv1.LabelServiceName: "web"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		Finalizers:    []string{"a/b"}, OwnerReferences: []metav1.OwnerReference{{Name: "x"}},
	}
}

func kept(annotations, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7", Generation: 3, Annotations: annotations,
		Labels: labels,
	}
}

// through puts an object into a store of its resource and returns what the store holds.
func through[T Object](t *testing.T, resource Resource[T], object T) runtime.Object {
	t.Helper()
	holder := &store[T]{watched: &Watched[T]{resource: resource, objects: map[objectKey]T{}}}
	// A streamed object goes through the transformer and then through Replace.
	stripped, err := holder.Transformer()(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Replace([]any{stripped}, "7"); err != nil {
		t.Fatal(err)
	}
	for held := range holder.watched.All() {
		return held
	}
	return nil
}

func TestStrip(t *testing.T) {
	own := map[string]string{
		lastApplied: "{}", "example.com/x": "y",
		"traefik.ingress.kubernetes.io/service.sticky.cookie": "true", "sluice.dev/x": "1",
		"kt-virtual-environment/rule": "{}", "kt-virtual-environment/hosts": "a",
	}
	ownKept := map[string]string{
		"traefik.ingress.kubernetes.io/service.sticky.cookie": "true", "sluice.dev/x": "1",
		"kt-virtual-environment/rule": "{}",
	}
	ports := []corev1.ServicePort{{Name: "http", Port: 80}}
	addresses := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	zone, node, application := "z", "n", "http"
	hints := &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z"}}}
	tests := map[string]struct{ got, want runtime.Object }{
		"Service": {
			through(t, Services(), &corev1.Service{
				ObjectMeta: meta(own),
				Spec: corev1.ServiceSpec{
					Ports: ports, Type: corev1.ServiceTypeClusterIP, ClusterIP: "192.0.2.9", ClusterIPs: []string{"192.0.2.9"},
					Selector: map[string]string{"app": "web"}, SessionAffinity: corev1.ServiceAffinityNone,
				},
			}),
			&corev1.Service{ObjectMeta: kept(ownKept, nil), Spec: corev1.ServiceSpec{
				Ports: ports, Type: corev1.ServiceTypeClusterIP, ClusterIP: "192.0.2.9", ClusterIPs: []string{"192.0.2.9"},
			}},
		},
		"EndpointSlice": {
			through(t, EndpointSlices(), &discoveryv1.EndpointSlice{
				ObjectMeta: meta(own), Ports: []discoveryv1.EndpointPort{{AppProtocol: &application}},
				Endpoints: []discoveryv1.Endpoint{{
					Addresses: []string{"192.0.2.1"}, Zone: &zone, NodeName: &node, Hints: hints,
					TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "web-1", Namespace: "shop", UID: "p"},
				}},
			}),
			&discoveryv1.EndpointSlice{
				ObjectMeta: kept(nil, map[string]string{discoveryv1.LabelServiceName: "web"}),
				Ports:      []discoveryv1.EndpointPort{{}},
				Endpoints: []discoveryv1.Endpoint{{
					Addresses: []string{"192.0.2.1"}, Zone: &zone, Hints: hints, TargetRef: &corev1.ObjectReference{
						Kind: "Pod",
						UID:  "p",
					},
				}},
			},
		},
		"Endpoints": {
			through(t, LegacyEndpoints(), &Endpoints{
				ObjectMeta: meta(own),
				Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // What legacy Endpoints consist of.
					Addresses:         []corev1.EndpointAddress{{IP: "192.0.2.1", NodeName: &node}},
					NotReadyAddresses: []corev1.EndpointAddress{{IP: "192.0.2.2"}},
				}},
			}),
			&Endpoints{
				ObjectMeta: kept(nil, nil),
				Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}}}, //nolint:staticcheck // As above.
			},
		},
		"Secret": {
			through(t, Secrets(), &corev1.Secret{
				ObjectMeta: meta(own), Data: map[string][]byte{"tls.crt": {1}},
				Type: corev1.SecretTypeTLS,
			}),
			&corev1.Secret{ObjectMeta: kept(nil, nil), Data: map[string][]byte{"tls.crt": {1}}, Type: corev1.SecretTypeTLS},
		},
		"ConfigMap": {
			through(t, ConfigMaps(), &corev1.ConfigMap{ObjectMeta: meta(own), Data: map[string]string{
				"ca.crt": "c",
				"big":    "b",
			}}),
			&corev1.ConfigMap{ObjectMeta: kept(nil, nil), Data: map[string]string{"ca.crt": "c"}},
		},
		"Node": {
			through(t, Nodes(), &corev1.Node{
				ObjectMeta: meta(own), Spec: corev1.NodeSpec{PodCIDR: "x"},
				Status: corev1.NodeStatus{Addresses: addresses, Images: []corev1.ContainerImage{{SizeBytes: 1}}},
			}),
			&corev1.Node{ObjectMeta: kept(nil, nil), Status: corev1.NodeStatus{Addresses: addresses}},
		},
		"Ingress": {
			through(t, Ingresses(), &networkingv1.Ingress{ObjectMeta: meta(map[string]string{
				lastApplied:     "{}",
				"example.com/x": "y",
			})}),
			&networkingv1.Ingress{ObjectMeta: kept(map[string]string{"example.com/x": "y"}, nil)},
		},
		"IngressClass": {
			through(t, IngressClasses(), &networkingv1.IngressClass{
				ObjectMeta: meta(map[string]string{lastApplied: "{}", networkingv1.AnnotationIsDefaultIngressClass: "true"}),
			}),
			&networkingv1.IngressClass{ObjectMeta: kept(map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"},
				nil)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStripHoldsNoSecretsOfOthers proves that of several keys only those are held that are read.
func TestStripHoldsNoSecretsOfOthers(t *testing.T) {
	for name, test := range map[string]struct{ given, want map[string][]byte }{
		"its only key": {map[string][]byte{"users": {1}}, map[string][]byte{"users": {1}}},
		"keys of others": {
			map[string][]byte{"token": {1}, "dsn": {2}, "tls.key": {3}, "ca.crt": {4}, "username": {5}},
			map[string][]byte{"token": nil, "dsn": nil, "tls.key": {3}, "ca.crt": {4}, "username": {5}},
		},
	} {
		got := through(t, Secrets(), &corev1.Secret{ObjectMeta: meta(nil), Data: test.given})
		if diff := cmp.Diff(&corev1.Secret{ObjectMeta: kept(nil, nil), Data: test.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWhole checks that a watch with all keys widens another one of the resource, whichever is registered first.
func TestWhole(t *testing.T) {
	for _, first := range []Resource[*corev1.Secret]{Secrets(), WholeSecrets()} {
		second := WholeSecrets()
		if first.Whole {
			second = Secrets()
		}
		cluster := &Cluster{watches: map[string]watcher{}}
		one, other := Watch(cluster, first, Scope{}), Watch(cluster, second, Scope{})
		if one != other {
			t.Fatal("there are two watches")
		}
		secret := &corev1.Secret{ObjectMeta: meta(nil), Data: map[string][]byte{"auth": []byte("a"), "b": []byte("c")}}
		held := through(t, one.resource, secret).(*corev1.Secret)
		if string(held.Data["auth"]) != "a" || string(held.Data["b"]) != "c" {
			t.Errorf("the values are %v", held.Data)
		}
	}
}
