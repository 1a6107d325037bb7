package endpoint

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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

// wait lets the clock of the test's bubble go on.
func wait(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}
