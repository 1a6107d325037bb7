package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lone is a pod without an owner. %q are how it runs and how it stops, and for how long it serves meanwhile; %d is its
// grace period in seconds.
const lone = `
apiVersion: v1
kind: Pod
metadata:
  name: lone
  annotations: {test.sluice.dev/run: %q, test.sluice.dev/on-stop: %q, test.sluice.dev/drain: %q,
    test.sluice.dev/restart-after: 100ms}
spec:
  terminationGracePeriodSeconds: %d
  containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]
`

// begin applies the pod and returns its address once it is ready.
func begin(c *Cluster, manifest string) string {
	c.t.Helper()
	c.Apply(manifest)
	pod := c.Until("Pod", "lone", "ready", func(pod *unstructured.Unstructured) bool {
		return Condition(pod, "Ready") == "True"
	})
	address, _, _ := unstructured.NestedString(pod.Object, "status", "podIP")
	return address
}

func terminating(pod *unstructured.Unstructured) bool {
	return pod != nil && pod.GetDeletionTimestamp() != nil
}

func gone(pod *unstructured.Unstructured) bool { return pod == nil }

// TestPodsEnd deletes a pod of each kind with one request before, one that is running, and one during its end.
func TestPodsEnd(t *testing.T) {
	tests := []struct {
		stop           string
		drain          string
		grace          int    // in seconds
		wait           string // how long the request that is running takes
		running, later bool   // whether that one, and one during the drain time, are answered
		shortest       time.Duration
		longest        time.Duration
	}{
		// Before the end of the grace period.
		{"polite", "2s", 60, "2500ms", true, true, 2 * time.Second, 50 * time.Second},
		{"close", "2s", 60, "2500ms", true, true, 2 * time.Second, 50 * time.Second},
		// Before the end of the drain time.
		{"exit", "1m", 90, "1m", false, false, 0, 50 * time.Second},
		// At the end of the grace period.
		{"hang", "400ms", 4, "1m", false, false, 3900 * time.Millisecond, 50 * time.Second},
	}
	for _, run := range []string{"inside", "process"} {
		for _, test := range tests {
			t.Run(run+"/"+test.stop, func(t *testing.T) {
				c, asker := Start(t), client(t)
				address := begin(c, fmt.Sprintf(lone, run, test.stop, test.drain, test.grace))
				if name, err := get(t.Context(), asker, address, ""); err != nil || name != "default/lone" {
					t.Fatalf("the pod says %q, %v", name, err)
				}
				running, later := send(t, asker, address, "?wait="+test.wait), make(chan attempt, 1)
				begun := time.Now()
				c.DeleteNow("Pod", "lone")
				c.Until("Pod", "lone", "terminating or gone", func(pod *unstructured.Unstructured) bool {
					return gone(pod) || terminating(pod)
				})
				go func() { later <- requestAtEnd(t, asker, address, test.later) }()
				if err := <-running; (err == nil) != test.running {
					t.Errorf("the request that was running: %v", err)
				}
				if during := <-later; (during.err == nil) != test.later {
					t.Errorf("the request during the end: %v", during.err)
				} else if test.stop == "hang" && during.took < 100*time.Millisecond {
					t.Errorf("a pod that hangs let go of a request after %v: %v", during.took, during.err)
				}
				c.Until("Pod", "lone", "gone", gone)
				if took := time.Since(begun); took < test.shortest || took > test.longest {
					t.Errorf("the end took %v, want %v to %v", took, test.shortest, test.longest)
				}
				if _, err := get(context.WithoutCancel(t.Context()), asker, address, ""); err == nil {
					t.Error("a pod that is gone answers")
				}
			})
		}
	}
}

// send begins a request to a pod's address, and returns when that is written. The channel gets its error.
func send(t *testing.T, asker http.RoundTripper, address, query string) <-chan error {
	t.Helper()
	written, ended := make(chan struct{}), make(chan error, 1)
	wrote := sync.OnceFunc(func() { close(written) }) // It may be repeated on another connection.
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { wrote() }}
	go func() {
		defer wrote()
		_, err := get(httptrace.WithClientTrace(t.Context(), trace), asker, address, query)
		ended <- err
	}()
	<-written
	return ended
}

// attempt is what became of a request.
type attempt struct {
	took time.Duration
	err  error
}

// requestAtEnd sends a request to a pod that is to end. Where none is to be answered, it repeats it until the pod has
// got its signal as well, which another watch brings.
func requestAtEnd(t *testing.T, asker http.RoundTripper, address string, answered bool) attempt {
	t.Helper()
	for {
		begun := time.Now()
		_, err := get(t.Context(), asker, address, "")
		if err != nil || answered {
			return attempt{time.Since(begun), err}
		}
	}
}

func TestPodsAreKilledAndComeBack(t *testing.T) {
	for _, run := range []string{"inside", "process"} {
		t.Run(run, func(t *testing.T) {
			c, asker := Start(t), client(t)
			address := begin(c, fmt.Sprintf(lone, run, "polite", "400ms", 2))
			running := send(t, asker, address, "?wait=20s")
			c.Kill("default/lone")
			if err := <-running; err == nil {
				t.Error("a request survived")
			}
			pod := c.Until("Pod", "lone", "ready again", func(pod *unstructured.Unstructured) bool {
				return Condition(pod, "Ready") == "True" && restarts(pod) == 1
			})
			if again, _, _ := unstructured.NestedString(pod.Object, "status", "podIP"); again != address {
				t.Errorf("it came back at %s, not %s", again, address)
			}
			if _, err := get(t.Context(), asker, address, ""); err != nil {
				t.Error(err)
			}
		})
	}
}

func restarts(pod *unstructured.Unstructured) int64 {
	statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	for _, one := range statuses {
		count, _, _ := unstructured.NestedInt64(one.(map[string]any), "restartCount")
		return count
	}
	return -1
}

// TestReadinessFollowsTheAnnotation changes a pod's readiness while it runs.
func TestReadinessFollowsTheAnnotation(t *testing.T) {
	c := Start(t)
	manifest := fmt.Sprintf(lone, "inside", "polite", "400ms", 2)
	begin(c, manifest)
	for _, ready := range []string{"False", "True"} {
		c.Apply(strings.Replace(manifest, "annotations: {",
			"annotations: {test.sluice.dev/ready: '"+strings.ToLower(ready)+"', ", 1))
		c.Until("Pod", "lone", "ready: "+ready, func(pod *unstructured.Unstructured) bool {
			return Condition(pod, "Ready") == ready
		})
	}
}
