package endpoint

import (
	"fmt"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// BenchmarkChange is one changed slice, from the note of the watch to the sets of the message, in clusters of several
// sizes: the cost is that of the Service, and does not grow with the cluster.
func BenchmarkChange(b *testing.B) {
	for _, services := range []int{1_000, 5_000, 20_000} {
		for _, endpoints := range []int{2, 100} {
			b.Run(fmt.Sprintf("services=%d/endpoints=%d", services, endpoints), func(b *testing.B) {
				cache, last := blank(), (*discoveryv1.EndpointSlice)(nil)
				for i := range services {
					service := web(port("http", 80))
					service.Name = fmt.Sprint("web-", i)
					last = sliceOf(service.Name, map[string]int32{"http": 8080})
					last.Labels[discoveryv1.LabelServiceName] = service.Name
					cache.service(nil, service)
					cache.slice(nil, last)
				}
				cache.collect()
				other := last.DeepCopy()
				for i := range endpoints {
					other.Endpoints = append(other.Endpoints, at(fmt.Sprintf("198.51.100.%d", i), pod("u")))
				}
				b.ReportAllocs()
				for b.Loop() {
					cache.slice(last, other)
					if len(cache.collect()) != 1 {
						b.Fatal("a change is not one set")
					}
					last, other = other, last
				}
			})
		}
	}
}

// BenchmarkNothingNew is a slice of a hundred endpoints whose annotations alone have changed.
func BenchmarkNothingNew(b *testing.B) {
	cache := blank()
	slice := sliceOf("a", map[string]int32{"http": 8080})
	for i := range 100 {
		slice.Endpoints = append(slice.Endpoints, at(fmt.Sprintf("198.51.100.%d", i), pod("u")))
	}
	cache.service(nil, web(port("http", 80)))
	cache.slice(nil, slice)
	cache.collect()
	b.ReportAllocs()
	for b.Loop() {
		cache.slice(slice, slice)
		if len(cache.collect()) != 0 {
			b.Fatal("nothing new is sent")
		}
	}
}
