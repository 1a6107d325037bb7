package kubernetes

import (
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// notice is how long after the EndpointSlice a request may still be sent to a pod that leaves, on a machine that is busy with
// other tests. integration/bench/kubernetes measures how long it takes.
const notice = time.Second

// departures are the times at which the EndpointSlices of a namespace first called a pod not ready that had been ready.
type departures struct {
	t     testing.TB
	close func()

	mu    sync.Mutex
	ready map[string]bool
	gone  map[string]time.Time
}

// watchDepartures follows the EndpointSlices of a namespace until the test ends.
func watchDepartures(t *testing.T, c *cluster.Cluster, namespace string) *departures {
	t.Helper()
	watch, err := c.Kubernetes.DiscoveryV1().EndpointSlices(namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := &departures{t: t, ready: map[string]bool{}, gone: map[string]time.Time{}}
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

func (d *departures) note(slice *discoveryv1.EndpointSlice, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, endpoint := range slice.Endpoints {
		if endpoint.TargetRef == nil {
			continue
		}
		pod := endpoint.TargetRef.Namespace + "/" + endpoint.TargetRef.Name
		switch ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready; {
		case ready:
			d.ready[pod] = true
		case d.ready[pod] && d.gone[pod].IsZero():
			d.gone[pod] = now
		}
	}
}

// expect looks for pods that got requests long after they were called not ready.
func (d *departures) expect(l *load) {
	d.t.Helper()
	d.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	worst := time.Duration(0)
	for pod, gone := range d.gone {
		late := l.last[pod].Sub(gone)
		worst = max(worst, late)
		if late > notice {
			d.t.Errorf("pod %s got a request %v after its EndpointSlice said that it leaves", pod, late)
		}
	}
	if len(d.gone) == 0 {
		d.t.Error("no pod has left, so this shows nothing")
	}
	d.t.Logf("%d pods left; the last request to one of them began %v after its EndpointSlice", len(d.gone), worst)
}
