package kubernetes

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// readied is how many pods become not ready and ready again in each variant, readyBeat the pause before each change.
	readied   = 200
	readyBeat = 50 * time.Millisecond
	// virtualEnvironment divides a namespace.
	virtualEnvironment = `{apiVersion: env.alibaba.com/v1alpha2, kind: VirtualEnvironment,
		metadata: {name: bench, namespace: bench-divided}, spec: {envLabel: {defaultSubset: dev}}}`
)

// variants are the same Services and pods twice. Each variant has a Sluice of its own, and both run at the same time:
// what disturbs one of them disturbs the other.
type variants struct{ plain, divided *variant }

// measureEnvironments compares changes of pods in a namespace that is divided into environments with the same changes
// in one that is not.
func measureEnvironments(tb testing.TB, w *world, r *results) {
	tb.Helper()
	servePods(tb)
	definition, err := os.ReadFile("../../../deploy/kubernetes/environments/virtualenvironments.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	w.Apply(string(definition))
	v := &variants{newVariant(tb, w, r, "bench-plain"), newVariant(tb, w, r, "bench-divided", virtualEnvironment)}
	defer v.divided.remove(tb)
	defer v.plain.remove(tb)
	v.settle(tb)
	v.measureReadiness(tb)
	v.measureChanges(tb, false)
	v.measureChanges(tb, true)
	v.measureTags(tb)
}

// settle waits until each pod that is followed answers, and then until there is nothing to do.
func (v *variants) settle(tb testing.TB) {
	tb.Helper()
	for _, one := range []*variant{v.plain, v.divided} {
		p := one.dial(tb)
		for i := range divisible {
			p.fields = selecting(i, 0, tag(i, 0))
			wanted := ok
			if i < followed {
				wanted = servedBy(address(0))
			}
			if _, err := p.until(tb.Context(), host(i), path, wanted); err != nil {
				tb.Fatal(err)
			}
		}
		p.close()
	}
	v.plain.settle(tb)
	v.divided.settle(tb)
}

// account reads the CPU time of all participants; Sluice is both processes.
func (v *variants) account(tb testing.TB) account {
	tb.Helper()
	all, other := v.divided.account(tb), harness.CPU(tb, v.plain.PID())
	all.sluice += other
	all.ours += other
	return all
}

// changes say how long pods took to become ready and not ready.
type changes struct{ ready, answered, unready times }

// measureReadiness has the same pods become not ready and ready again, one after the other, in both variants in turn.
func (v *variants) measureReadiness(tb testing.TB) {
	tb.Helper()
	var plain, divided changes
	before := v.account(tb)
	for n := range readied {
		i, j := n%followed, v.plain.world.random.IntN(podsOf)
		if n%2 == 0 {
			plain.follow(tb, v.plain, i, j)
			divided.follow(tb, v.divided, i, j)
		} else {
			divided.follow(tb, v.divided, i, j)
			plain.follow(tb, v.plain, i, j)
		}
	}
	after := v.account(tb)
	note := func(key string, value float64, format string, args ...any) {
		v.divided.note(key, value, before, after, format, args...)
	}
	ratio := func(a, b times) float64 { return float64(a.median()) / float64(b.median()) }
	note("ready-plain", milliseconds(plain.ready.median()),
		"%d pods of %d become ready in turn, without environments, from before the request to the API server to the first "+
			"request: %s", readied, divisible*podsOf, plain.ready)
	note("ready-divided", milliseconds(divided.ready.median()), "the same with %d tags: %s", tags, divided.ready)
	note("ready-ratio", ratio(divided.ready, plain.ready),
		"the same, from the API server's answer: without environments %s; with %d tags %s", plain.answered, tags,
		divided.answered)
	note("unready-ratio", ratio(divided.unready, plain.unready),
		"the same pods become not ready, to the first request without them: without environments %s; with %d tags %s",
		plain.unready, tags, divided.unready)
}

// follow has a pod become not ready and ready again, and adds how long that took.
func (c *changes) follow(tb testing.TB, v *variant, i, j int) {
	tb.Helper()
	p := v.dial(tb)
	defer p.close()
	p.fields = selecting(i, j, tag(i, j))
	become := func(ready bool, wanted func(int, string) bool) moved {
		if err := v.report(tb.Context(), i, j, ready); err != nil {
			tb.Fatal(err)
		}
		pause(tb.Context(), readyBeat)
		m := p.during(tb.Context(), host(i), wanted, func(ctx context.Context) (string, error) {
			return v.write(ctx, i, readiness(j, ready))
		})
		if m.err != nil {
			tb.Fatal(m.err)
		}
		return m
	}
	m := become(false, notServedBy(address(j)))
	c.unready = append(c.unready, m.arrived.Sub(m.asked))
	m = become(true, servedBy(address(j)))
	c.ready = append(c.ready, m.arrived.Sub(m.asked))
	c.answered = append(c.answered, m.arrived.Sub(m.answered))
}

// measureChanges changes pods of the other Services at a steady rate, in both variants in turn, and compares CPU with
// the same time without changes. Before each change the status of the pod may be written, as a kubelet does.
func (v *variants) measureChanges(tb testing.TB, reported bool) {
	tb.Helper()
	v.settle(tb)
	read := func() (plain, divided time.Duration) {
		return harness.CPU(tb, v.plain.PID()), harness.CPU(tb, v.divided.PID())
	}
	length := counted * time.Second / countedRate
	firstPlain, firstDivided := read()
	pause(tb.Context(), length+tail)
	before := v.account(tb)
	idlePlain, idleDivided := read()
	n := -1
	v.divided.steadily(tb, countedRate, counted, func(ctx context.Context, _ int) error {
		n++
		return v.change(ctx, n, reported)
	})
	pause(tb.Context(), length+tail-time.Since(before.when))
	after := v.account(tb)
	plain, divided := read()
	note := func(key string, used, idle time.Duration, what string) {
		if !reported {
			key, what = "", what+", of slices alone"
		}
		v.divided.note(key, each1(used-idle, counted/2), before, after, "%d changes of pods at %d/s, %s: Sluice %v, idle "+
			"%v; each %.3f ms", counted/2, countedRate/2, what, rounded(used), rounded(idle), each1(used-idle, counted/2))
	}
	note("pod-plain", plain-idlePlain, idlePlain-firstPlain, "without environments")
	note("pod-divided", divided-idleDivided, idleDivided-firstDivided, fmt.Sprintf("with %d tags", tags))
}

// change makes one of a series of changes. Four in a row are for one pod: it becomes not ready in both variants, and
// then ready.
func (v *variants) change(ctx context.Context, n int, reported bool) error {
	one, i, j, ready := v.plain, followed+n/4%(divisible-followed), n/4%podsOf, n%4 >= 2
	if n%2 == 1 {
		one = v.divided
	}
	if reported {
		if err := one.report(ctx, i, j, ready); err != nil {
			return err
		}
	}
	_, err := one.write(ctx, i, readiness(j, ready))
	return err
}

// measureTags has the first pods of new tags become ready, one after the other: each changes the table.
func (v *variants) measureTags(tb testing.TB) {
	tb.Helper()
	v.settle(tb)
	one := v.divided
	p := one.dial(tb)
	defer p.close()
	var took times
	before := v.account(tb)
	for n := range newRoutes {
		i, fresh := n%divisible, fmt.Sprintf("new.t%d", n)
		pod, err := one.createPod(tb.Context(), i, podsOf+n, fresh)
		if err != nil {
			tb.Fatal(err)
		}
		pause(tb.Context(), lull)
		p.fields = selecting(i, podsOf, fresh)
		m := p.during(tb.Context(), host(i), servedBy(address(podsOf)), func(ctx context.Context) (string, error) {
			return one.write(ctx, i, func(slice *discoveryv1.EndpointSlice) {
				slice.Endpoints = append(slice.Endpoints, endpointOf(pod, address(podsOf)))
			})
		})
		if m.err != nil {
			tb.Fatal(m.err)
		}
		took = append(took, m.arrived.Sub(m.asked))
	}
	one.note("tag", milliseconds(took.median()), before, v.account(tb),
		"%d first pods of new tags, from before the request to the API server to the first request: %s", newRoutes, took)
}
