package ingressnginx

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/nginx/population"
)

// edit is a sort of edits of an Ingress.
type edit struct {
	name string
	// kind is that of the hosts that are edited.
	kind string
	// write makes edit number n, and changed is what its answer is like.
	write   func(ctx context.Context, m population.Member, n int) error
	changed func(answer *http.Response, m population.Member, n int) bool
}

func (w *world) edits() []edit {
	redirected := func(n int) string { return fmt.Sprintf("https://www.example.com/%d", n) }
	vhost := func(n int) string { return fmt.Sprintf("v%d.internal", n) }
	annotate := func(key string, value func(int) string) func(context.Context, population.Member, int) error {
		return func(ctx context.Context, m population.Member, n int) error {
			return population.Annotate(ctx, w.Kubernetes, m, map[string]any{population.Prefix + key: value(n)})
		}
	}
	return []edit{
		{
			"permanent-redirect", "redirect", annotate("permanent-redirect", redirected),
			func(answer *http.Response, _ population.Member, n int) bool {
				return answer.Header.Get("Location") == redirected(n)
			},
		},
		{
			"upstream-vhost", "cors", annotate("upstream-vhost", vhost),
			func(answer *http.Response, _ population.Member, n int) bool {
				return answer.Header.Get(population.FieldHost) == vhost(n)
			},
		},
		{"the Service", "body", func(ctx context.Context, m population.Member, n int) error {
			return population.Turn(ctx, w.Kubernetes, m, n)
		}, func(answer *http.Response, m population.Member, n int) bool {
			return answer.Header.Get(population.FieldBackend) == m.Namespace+"/"+population.TurnService(n)
		}},
	}
}

// measureEdits edits Ingresses, each when the edit before serves.
func (w *world) measureEdits(tb testing.TB) {
	tb.Helper()
	if w.sluice == nil {
		w.start(tb)
	}
	p, err := population.Dial(tb.Context(), w.sluice.Addr("web"))
	if err != nil {
		tb.Fatal(err)
	}
	defer p.Close()
	events := watch(tb, w)
	settle(tb, w.sluice.PID())
	var all, afterEvent times
	begun, used := time.Now(), harness.CPU(tb, w.sluice.PID())
	for _, e := range w.edits() {
		hosts := population.Of(w.members, e.kind)
		var took times
		for n := range w.asked.edits {
			m := hosts[n%len(hosts)]
			if err := e.write(tb.Context(), m, n); err != nil {
				tb.Fatal(err)
			}
			written := time.Now()
			when, err := p.Await(tb.Context(), m.Host, m.Path, func(answer *http.Response) bool {
				return e.changed(answer, m, n)
			})
			if err != nil {
				tb.Fatal(err)
			}
			took = append(took, when.Sub(written))
			afterEvent = append(afterEvent, when.Sub(events.of(m.Ingresses[0], written)))
		}
		all = append(all, took...)
		w.results.say("%d edits of %s, from the API server's answer to the first changed answer: %v", len(took), e.name, took)
	}
	cpu := harness.CPU(tb, w.sluice.PID()) - used
	w.results.say("%d edits in %v; from the event at a watch beside it: %v; CPU of Sluice %v", len(all),
		time.Since(begun).Round(time.Millisecond), afterEvent, cpu.Round(time.Millisecond))
	w.results.note("edit", milliseconds(all.share(50)))
	w.results.note("edit-p99", milliseconds(all.share(99)))
	w.results.note("edit-event", milliseconds(afterEvent.share(50)))
	w.results.note("edit-cpu", milliseconds(cpu)/float64(len(all)))
}

// seen are the times at which a watch of this process had the events of Ingresses.
type seen struct {
	mutex sync.Mutex
	last  map[string]time.Time
}

// watch watches Ingresses until the benchmark ends.
func watch(tb testing.TB, w *world) *seen {
	tb.Helper()
	watching, err := w.Kubernetes.NetworkingV1().Ingresses("").Watch(tb.Context(), metav1.ListOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	s := &seen{last: map[string]time.Time{}}
	var running sync.WaitGroup
	running.Go(func() {
		for event := range watching.ResultChan() {
			if object, is := event.Object.(*networkingv1.Ingress); is {
				s.mutex.Lock()
				s.last[object.Namespace+"/"+object.Name] = time.Now()
				s.mutex.Unlock()
			}
		}
	})
	tb.Cleanup(func() { watching.Stop(); running.Wait() })
	return s
}

// of returns when the last event of an Ingress was there, but not later than its answer was written where it is late.
func (s *seen) of(ingress *networkingv1.Ingress, written time.Time) time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	when, known := s.last[ingress.Namespace+"/"+ingress.Name]
	if !known {
		return written
	}
	return when
}

// median returns the median of numbers.
func median(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[len(sorted)/2]
}

// measureFlips changes the annotations of two hundred hosts and turns another one between two Services, while requests
// are sent to this one and to twenty that stay as they are.
func (w *world) measureFlips(tb testing.TB) {
	tb.Helper()
	if w.sluice == nil {
		w.start(tb)
	}
	steady := population.Of(w.members, "plain", "protocol", "retry")
	others := population.Without(w.members, steady)
	turning := steady[20]
	if err := population.Turn(tb.Context(), w.Kubernetes, turning, 0); err != nil {
		tb.Fatal(err)
	}
	p, err := population.Dial(tb.Context(), w.sluice.Addr("web"))
	if err != nil {
		tb.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Await(tb.Context(), turning.Host, "/", func(answer *http.Response) bool {
		return answer.Header.Get(population.FieldHost) == population.HostOf("/"+population.TurnService(0))
	}); err != nil {
		tb.Fatal(err)
	}
	calm := population.StartTraffic(tb, w.sluice.Addr("web"), population.Hosts(steady[:20]), nil)
	turned := population.StartTraffic(tb, w.sluice.Addr("web"), []string{turning.Host}, population.HostOf)
	ctx, cancel := context.WithTimeout(tb.Context(), w.asked.flipping)
	defer cancel()
	turns := make(chan int, 1)
	go func() { turns <- population.Turns(ctx, tb, w.Kubernetes, turning) }()
	used := harness.CPU(tb, w.sluice.PID())
	changes := population.Flip(ctx, tb, w.Kubernetes, others[:200])
	both := <-turns
	cpu := harness.CPU(tb, w.sluice.PID()) - used
	one, two := calm.Stop(), turned.Stop()
	w.results.note("flip-failed", float64(one.Failed))
	w.results.note("turn-failed", float64(two.Failed))
	w.results.note("turn-mixed", float64(two.Mixed))
	w.results.say("%d changes of annotations and %d turns in %v; %d requests to 20 other hosts, %d failed %s; %d requests to the "+
		"host that turns, %d failed, %d mixed, by Service %v %s; CPU of Sluice %v", changes, both, w.asked.flipping, one.All,
		one.Failed, one.FirstWrong, two.All, two.Failed, two.Mixed, two.Of, two.FirstWrong, cpu.Round(time.Millisecond))
}
