package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// newRoutes is how many IngressRoutes are made, lull the pause before each, in which a quiet system becomes quiet
	// again.
	newRoutes = 50
	lull      = 700 * time.Millisecond
	// edited is how many IngressRoutes are edited, at editRate in a second.
	edited   = 200
	editRate = 5
)

// measureRoutes makes IngressRoutes and removes them.
func (s *subject) measureRoutes(tb testing.TB) {
	tb.Helper()
	s.settle(tb)
	p, next := s.dial(tb), s.world.shuffled()
	defer p.close()
	var fromAsked, fromAnswered times
	var undo []func() error
	before := s.account(tb)
	for range newRoutes {
		pause(tb.Context(), lull)
		s.world.made++
		i, name, host := next(), fmt.Sprintf("new-%05d", s.world.made), fmt.Sprintf("new-%05d.example.com", s.world.made)
		m := p.during(tb.Context(), host, ok, func(ctx context.Context) (string, error) {
			return "", s.world.create(ctx, i, name, host)
		})
		if m.err != nil {
			tb.Fatal(m.err)
		}
		fromAsked, fromAnswered = append(fromAsked, m.arrived.Sub(m.asked)), append(fromAnswered, m.arrived.Sub(m.answered))
		undo = append(undo, func() error {
			return s.world.Dynamic.Resource(resource()).Namespace(namespace(i)).Delete(tb.Context(), name,
				metav1.DeleteOptions{})
		})
	}
	after := s.account(tb)
	s.note("created", milliseconds(fromAsked.median()), before, after,
		"%d IngressRoutes made, from before the request to the API server to the first 200: %s", newRoutes, fromAsked)
	s.note("created-answered", milliseconds(fromAnswered.median()), before, after,
		"the same, from the API server's answer: %s", fromAnswered)
	for _, remove := range undo {
		if err := remove(); err != nil {
			tb.Fatal(err)
		}
	}
}

// edit changes the rule and the priority of an IngressRoute, so that it still takes what it took.
func (w *world) edit(ctx context.Context, i int) error {
	w.edits++
	prefix := [...]string{"/", "/shop"}[w.edits%2]
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"routes": routes(i, host(i), prefix,
		1000+int64(w.edits))}})
	if err != nil {
		return err
	}
	_, err = w.Dynamic.Resource(resource()).Namespace(namespace(i)).Patch(ctx, route(i), types.MergePatchType, patch,
		metav1.PatchOptions{})
	return err
}

// measureEdits edits IngressRoutes at a steady rate, and compares CPU with the same time without edits.
func (s *subject) measureEdits(tb testing.TB) {
	tb.Helper()
	s.settle(tb)
	length := edited * time.Second / editRate
	first := s.account(tb)
	pause(tb.Context(), length+tail)
	before := s.account(tb)
	s.steadily(tb, editRate, edited, s.world.edit)
	pause(tb.Context(), length+tail-time.Since(before.when))
	after := s.account(tb)
	idle, used := before.sluice-first.sluice, after.sluice-before.sluice
	s.note("edit", each1(used-idle, edited), before, after,
		"%d edits of IngressRoutes at %d/s: Sluice %v, idle %v; each %.3f ms", //
		edited, editRate, rounded(used), rounded(idle), each1(used-idle, edited))
	s.check(tb)
}

// measureChurn changes endpoints and edits routes for a while, and watches memory.
func (s *subject) measureChurn(tb testing.TB, length time.Duration) {
	tb.Helper()
	s.settle(tb)
	count := int(length.Seconds() * countedRate)
	var most int64
	n := 0
	before := s.account(tb)
	s.steadily(tb, countedRate, count, func(ctx context.Context, i int) error {
		n++
		if n%countedRate == 0 {
			now, _ := s.Memory()
			most = max(most, now)
			if err := s.world.edit(ctx, i); err != nil {
				return err
			}
		}
		_, err := s.world.move(ctx, i)
		return err
	})
	after := s.account(tb)
	pause(tb.Context(), tail)
	now, peak := s.Memory()
	s.note("peak", float64(peak)/1e6, before, after,
		"churn of %v, %d endpoint changes and %d edits: at most %d MiB resident of the process's whole life, %d MiB of "+
			"those of each second, %d MiB at the end; %v of CPU", //
		length, count, count/countedRate, peak>>20, most>>20, now>>20, rounded(after.sluice-before.sluice))
	s.check(tb)
}
