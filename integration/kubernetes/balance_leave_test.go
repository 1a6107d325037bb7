package kubernetes

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// inquiry is one client that repeats requests, and records every response in order.
type inquiry struct {
	stop func()

	mu      sync.Mutex
	answers []string // as ask returns them
}

// inquire repeats requests for a host until it is stopped, at the latest at the end of the test.
func inquire(t *testing.T, g *gate, host string) *inquiry {
	t.Helper()
	q := &inquiry{}
	client := harness.NewClient(t, harness.H1, g.Addr("web"), host, nil)
	done := make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			answer, err := client.Try(client.Request(http.MethodGet, "/", nil))
			text := fmt.Sprint(err)
			if err == nil {
				text = summary(answer)
			}
			q.mu.Lock()
			q.answers = append(q.answers, text)
			q.mu.Unlock()
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	})
	q.stop = sync.OnceFunc(func() { close(done); busy.Wait() })
	t.Cleanup(q.stop)
	return q
}

// seen are all answers until now.
func (q *inquiry) seen() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.answers)
}

func fails(answer string) bool { return !strings.HasPrefix(answer, "200 ") }

// endpoints are those of all slices.
func endpoints(objects []*unstructured.Unstructured) []discoveryv1.Endpoint {
	var found []discoveryv1.Endpoint
	for _, object := range objects {
		var slice discoveryv1.EndpointSlice
		if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &slice) == nil {
			found = append(found, slice.Endpoints...)
		}
	}
	return found
}

func yes(condition *bool) bool { return condition != nil && *condition }

// allLeave scales a Deployment to zero. Its terminating pods get requests until they are gone; then the response is
// 503, with a reason in the log.
func allLeave(t *testing.T, c *cluster.Cluster) {
	const atLeast = 20
	c.Apply(namespace("exodus"), lingering("exodus/all"))
	c.Scale("exodus/all", 3)
	g := open(t, c, static)
	g.spreads("all.test", 3)
	q := inquire(t, g, "all.test")
	c.Scale("exodus/all", 0)
	c.UntilAll("EndpointSlice.discovery.k8s.io", "exodus", "3 pods that serve and terminate",
		func(objects []*unstructured.Unstructured) bool {
			all := endpoints(objects)
			return len(all) == 3 && !slices.ContainsFunc(all, func(one discoveryv1.Endpoint) bool {
				return yes(one.Conditions.Ready) || !yes(one.Conditions.Serving) || !yes(one.Conditions.Terminating)
			})
		})
	before := len(q.seen())
	c.UntilAll("Pod", "exodus", "gone", func(pods []*unstructured.Unstructured) bool { return len(pods) == 0 })
	g.becomes("all.test/", "503")
	q.stop()
	answers := q.seen()
	last := slices.IndexFunc(answers, fails)
	if last < 0 {
		t.Fatal("a Service without pods is answered")
	}
	if last < before+atLeast {
		t.Errorf("answer %d of %d is %s; all pods were terminating after %d", last+1, len(answers), answers[last], before)
	}
	if at := slices.IndexFunc(answers[last:], func(answer string) bool { return !fails(answer) }); at >= 0 {
		t.Errorf("answer %d is %s, though there is an endpoint: answer %d is %s", last+1, answers[last], last+at+1,
			answers[last+at])
	}
	g.WaitLog("request failed", "host=all.test", "no endpoint may answer: 0 known, none serving")
	t.Logf("%d answers of pods that were all terminating, then %v", last-before, tally(answers[last:]))
}

func tally(answers []string) map[string]int {
	counts := map[string]int{}
	for _, answer := range answers {
		counts[answer]++
	}
	return counts
}

// readinessFlaps changes the readiness of one pod of three repeatedly. No request fails, and the pod gets its share
// when it is ready and none when it is not.
func readinessFlaps(t *testing.T, c *cluster.Cluster) {
	c.Apply(namespace("flap"), polite("flap/web"))
	c.Scale("flap/web", 3)
	c.Endpoints("flap/web", 3)
	g := openLogging(t, c)
	g.spreads("web.test", 3)
	l := press(t, g, "web.test")
	l.spread(3)
	pods, err := c.Kubernetes.CoreV1().Pods("flap").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := pods.Items[0].Name
	for range 5 {
		for _, ready := range []bool{false, true} {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"test.sluice.dev/ready":"%v"}}}`, ready)
			if _, err := c.Kubernetes.CoreV1().Pods("flap").Patch(t.Context(), pod, types.MergePatchType, []byte(patch),
				metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			c.UntilAll("EndpointSlice.discovery.k8s.io", "flap", "a pod's readiness",
				func(objects []*unstructured.Unstructured) bool {
					return slices.ContainsFunc(endpoints(objects), func(one discoveryv1.Endpoint) bool {
						return one.TargetRef != nil && one.TargetRef.Name == pod && yes(one.Conditions.Ready) == ready
					})
				})
			l.spread(map[bool]int{false: 2, true: 3}[ready])
			if answers := g.several("web.test/", 12); !ready && answers["200 flap/"+pod] > 0 {
				t.Errorf("a pod that is not ready answers: %v", answers)
			}
		}
	}
	l.end()
	if failed := g.failures("web"); len(failed) > 0 {
		t.Errorf("requests failed: %q", failed)
	}
}
