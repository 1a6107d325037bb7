package endpoint

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// TestARenamedPortIsServedUntilTheSlicesFollow demands that no request is refused because a Service is a moment ahead
// of its slices.
func TestARenamedPortIsServedUntilTheSlicesFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changed atomic.Int64
		cache := newSliceCache("k", counts{}, func() { changed.Add(1) })
		services := []*corev1.Service{
			web(port("http", 80)), web(port("web", 80)), web(port("api", 80), port("new", 81)), web(port("odd", 80)),
		}
		old := sliceOf("a", map[string]int32{"http": 8080}, at("192.0.2.1"))
		follows := sliceOf("a", map[string]int32{"api": 8080}, at("192.0.2.1"))
		empty := sliceOf("a", map[string]int32{"api": 8080})
		for _, step := range []struct {
			name   string
			change func()
			want   []string
		}{
			{"all is there", func() {
				cache.service(nil, services[0])
				cache.slice(nil, old)
			}, []string{"k/shop/web:80: 192.0.2.1:8080"}},
			{"another name", func() { cache.service(services[0], services[1]) }, []string{}},
			{"another name and port", func() { cache.service(services[1], services[2]) }, []string{"k/shop/web:81:"}},
			{"the slices follow", func() { cache.slice(old, follows) }, []string{}},
			{"no endpoint is left", func() { cache.slice(follows, empty) }, []string{"k/shop/web:80:"}},
			{"an endpoint is added", func() { cache.slice(empty, follows) }, []string{"k/shop/web:80: 192.0.2.1:8080"}},
			{"the time is over", func() { wait(renameTime) }, []string{}},
			{"a name that no slice will know", func() {
				cache.service(services[2], services[3])
			}, []string{"k/shop/web:81: deleted"}},
			{"that time is over", func() { wait(renameTime) }, []string{"k/shop/web:80:"}},
			{"the Service goes", func() {
				cache.service(services[3], nil)
				cache.slice(follows, nil)
			}, []string{"k/shop/web:80: deleted"}},
		} {
			changed.Store(0)
			step.change()
			if diff := cmp.Diff(step.want, show(cache.collect())); diff != "" || changed.Load() == 0 {
				t.Errorf("%s: notified %d times, sets (-want +got):\n%s", step.name, changed.Load(), diff)
			}
		}
		if len(cache.entries) != 0 {
			t.Errorf("what is gone is still kept: %v", cache.entries)
		}
	})
}

// TestARenamedPortIsNotThatOfAnotherProtocol renames the UDP port of a Service whose TCP port has the same number.
func TestARenamedPortIsNotThatOfAnotherProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := blank()
		udp := func(name string) corev1.ServicePort {
			return corev1.ServicePort{Name: name, Port: 53, Protocol: corev1.ProtocolUDP}
		}
		before, after := web(udp("dns"), port("dns-tcp", 53)), web(udp("other"), port("dns-tcp", 53))
		slice := sliceOf("a", map[string]int32{"dns-tcp": 5353}, at("192.0.2.1"))
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{
			Name: to("dns"), Port: to(int32(5354)), Protocol: to(corev1.ProtocolUDP),
		})
		cache.service(nil, before)
		cache.slice(nil, slice)
		cache.collect()
		cache.service(before, after)
		if sets := show(cache.collect()); len(sets) > 0 {
			t.Errorf("sets %v right after the new name, want no change", sets)
		}
		wait(renameTime)
		if diff := cmp.Diff([]string{"k/shop/web:53/udp:"}, show(cache.collect())); diff != "" {
			t.Errorf("sets (-want +got):\n%s", diff)
		}
	})
}

// wait lets the clock of the test's bubble go on.
func wait(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}
