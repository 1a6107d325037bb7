package kubernetes

import (
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// notice is how long after the EndpointSlice a request may still be sent to a pod that leaves, beyond the time for
// which the machine stood still. integration/bench/kubernetes measures how long it takes.
const notice = time.Second

// departures are the times at which the EndpointSlices of a namespace ceased to call a pod ready.
type departures struct {
	t     testing.TB
	close func()

	mu    sync.Mutex
	ready map[string]map[string]bool // pods, by the name of their slice
	gone  map[string]time.Time
}

// watchDepartures follows the EndpointSlices of a namespace until the test ends.
func watchDepartures(t *testing.T, c *cluster.Cluster, namespace string) *departures {
	t.Helper()
	watch, err := c.Kubernetes.DiscoveryV1().EndpointSlices(namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := &departures{t: t, ready: map[string]map[string]bool{}, gone: map[string]time.Time{}}
	var busy sync.WaitGroup
	busy.Go(func() {
		for event := range watch.ResultChan() {
			if slice, ok := event.Object.(*discoveryv1.EndpointSlice); ok {
				d.note(slice, time.Now())
			}
		}
	})
	d.close = sync.OnceFunc(func() { watch.Stop(); busy.Wait() })
	t.Cleanup(d.close)
	return d
}

// note compares a slice with its previous version: endpoints that are no longer ready leave, whether they are still in
// the slice or not.
func (d *departures) note(slice *discoveryv1.EndpointSlice, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ready := map[string]bool{}
	for _, endpoint := range slice.Endpoints {
		if endpoint.TargetRef != nil && (endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready) {
			ready[endpoint.TargetRef.Namespace+"/"+endpoint.TargetRef.Name] = true
		}
	}
	for pod := range d.ready[slice.Name] {
		if !ready[pod] {
			d.gone[pod] = now
		}
	}
	d.ready[slice.Name] = ready
}

// expect looks for pods that got requests long after they were called not ready.
func (d *departures) expect(l *load) {
	d.t.Helper()
	d.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	asked, worst, stalled := 0, -time.Hour, l.stalled()
	for pod, gone := range d.gone {
		if l.last[pod].IsZero() {
			continue
		}
		asked++
		late := l.last[pod].Sub(gone)
		worst = max(worst, late)
		if late > notice+6*stalled {
			d.t.Errorf("pod %s got a request %v after its EndpointSlice said that it leaves; the machine stood still for %v",
				pod, late, stalled)
		}
	}
	if asked == 0 {
		d.t.Error("no pod has left that had requests, so this shows nothing")
	}
	d.t.Logf("%d pods left, %d of which had requests, the last one %v after its EndpointSlice; the machine stood still "+
		"for %v", len(d.gone), asked, worst, stalled)
}
