package population

import (
	"context"
	"sync"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// hands is how many objects are written at a time.
const hands = 16

// Create writes everything to a cluster.
func (s *Surroundings) Create(tb testing.TB, client kubernetes.Interface) {
	tb.Helper()
	var options metav1.CreateOptions
	each(tb, s.Namespaces, func(ctx context.Context, i int) error {
		_, err := client.CoreV1().Namespaces().Create(ctx, s.Namespaces[i], options)
		return err
	})
	each(tb, s.Services, func(ctx context.Context, i int) error {
		_, err := client.CoreV1().Services(s.Services[i].Namespace).Create(ctx, s.Services[i], options)
		return err
	})
	each(tb, s.Slices, func(ctx context.Context, i int) error {
		_, err := client.DiscoveryV1().EndpointSlices(s.Slices[i].Namespace).Create(ctx, s.Slices[i], options)
		return err
	})
	each(tb, s.Secrets, func(ctx context.Context, i int) error {
		_, err := client.CoreV1().Secrets(s.Secrets[i].Namespace).Create(ctx, s.Secrets[i], options)
		return err
	})
}

// CreateIngresses writes the Ingresses of hosts to a cluster.
func CreateIngresses(tb testing.TB, client kubernetes.Interface, members []Member) {
	tb.Helper()
	var all []*networkingv1.Ingress
	for i := range members {
		all = append(all, members[i].Ingresses...)
	}
	each(tb, all, func(ctx context.Context, i int) error {
		_, err := client.NetworkingV1().Ingresses(all[i].Namespace).Create(ctx, all[i], metav1.CreateOptions{})
		return err
	})
}

// each writes objects, as many at a time as there are hands.
func each[T any](tb testing.TB, objects []T, write func(context.Context, int) error) {
	tb.Helper()
	var running sync.WaitGroup
	failed := make(chan error, hands)
	for hand := range hands {
		running.Go(func() {
			for i := hand; i < len(objects); i += hands {
				if err := write(tb.Context(), i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	running.Wait()
	close(failed)
	for err := range failed {
		tb.Fatal(err)
	}
}
