package client

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkEvent is one changed object, from the reflector to its subscriber, among others of several numbers: the
// cost does not grow with the cluster.
func BenchmarkEvent(b *testing.B) {
	for _, objects := range []int{1_000, 20_000} {
		b.Run(fmt.Sprintf("objects=%d", objects), func(b *testing.B) {
			watched := &Watched[*corev1.Service]{resource: Services(), objects: map[objectKey]*corev1.Service{}}
			told := 0
			watched.Notify(func(_, _ *corev1.Service) { told++ })
			part := &store[*corev1.Service]{watched: watched}
			version := 0
			change := func(i int) *corev1.Service {
				version++
				return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: strconv.Itoa(i), ResourceVersion: strconv.Itoa(version),
				}}
			}
			for i := range objects {
				if err := part.Add(change(i)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := part.Update(change(7)); err != nil {
					b.Fatal(err)
				}
			}
			if told != version {
				b.Fatalf("%d of %d changes were reported", told, version)
			}
		})
	}
}
