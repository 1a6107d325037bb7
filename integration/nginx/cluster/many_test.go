package cluster

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/nginx/population"
)

// ingresses is the number of Ingresses of many hosts.
const ingresses = 600

// populate creates many Ingresses of mixed annotations with what they need.
func populate(w *world) []population.Member {
	w.t.Helper()
	around := population.Around(ingresses, w.backends, population.Certificates(w.t, harness.NewAuthority(w.t)))
	around.Create(w.t, w.Kubernetes)
	members := population.Make(ingresses)
	population.CreateIngresses(w.t, w.Kubernetes, members)
	return members
}

// TestManyIngresses starts with hundreds of Ingresses, each of which is served as its annotations say, and changes them
// under load.
func TestManyIngresses(t *testing.T) {
	w := prepare(t)
	members := populate(w)
	g := open(w, static)
	t.Run("each is served when it is ready", func(t *testing.T) { servesEach(g.on(t), members) })
	t.Run("an edit changes one", func(t *testing.T) { editsOne(w.on(t), g.on(t), members) })
	t.Run("others change under load", func(t *testing.T) { flipsOthers(w.on(t), g.on(t), members) })
	t.Run("and all go", func(t *testing.T) { goesAll(w.on(t), g.on(t), members) })
}

// servesEach sends a request to each host, without waiting.
func servesEach(g *gate, members []population.Member) {
	g.t.Helper()
	for _, m := range members {
		g.servesAs(m)
	}
}

// servesAs sends a request to a host, whose answer has the status and the endpoint of its kind.
func (g *gate) servesAs(m population.Member) {
	g.t.Helper()
	answer := g.get(m.Host + m.Path)
	backend := answer.Header.Get(population.FieldBackend)
	want := ""
	if m.Status == http.StatusOK {
		want = m.Namespace + "/" + m.Service
	}
	if answer.StatusCode != m.Status || backend != want && (m.Canary == "" || backend != m.Namespace+"/"+m.Canary) {
		g.t.Errorf("%s of kind %s: %d by %q, want %d by %q", m.Host, m.Kind, answer.StatusCode, backend, m.Status, want)
	}
}

// editsOne changes hosts of several kinds, and none of the others.
func editsOne(w *world, g *gate, members []population.Member) {
	const location = "https://edited.example.com/"
	var edited []population.Member
	for _, kind := range []string{"plain", "canary", "rewrite", "cors", "secure"} {
		m := members[slices.IndexFunc(members, func(m population.Member) bool { return m.Kind == kind })]
		edited = append(edited, m)
		if err := population.Annotate(w.t.Context(), w.Kubernetes, m,
			map[string]any{prefix + "temporal-redirect": location}); err != nil {
			w.t.Fatal(err)
		}
		g.until(func() bool { return g.get(m.Host+m.Path).Header.Get("Location") == location },
			func() string { return "the edit of kind " + kind + " has no effect" })
	}
	for _, m := range members {
		if !slices.ContainsFunc(edited, func(other population.Member) bool { return other.Host == m.Host }) {
			g.servesAs(m)
		}
	}
	for _, m := range edited {
		if err := population.Annotate(w.t.Context(), w.Kubernetes, m,
			map[string]any{prefix + "temporal-redirect": nil}); err != nil {
			w.t.Fatal(err)
		}
		g.until(func() bool { return g.get(m.Host+m.Path).StatusCode == m.Status },
			func() string { return "the end of the edit of kind " + m.Kind + " has no effect" })
		g.servesAs(m)
	}
}

// flipsOthers sends requests to twenty hosts, two of which turn between two Services, while the annotations of two
// hundred others change all the time.
func flipsOthers(w *world, g *gate, members []population.Member) {
	steady := population.Of(members, "plain", "protocol", "body", "cors")
	others := population.Without(members, steady)
	hosts := population.Hosts(steady[:20])
	traffic := population.StartTraffic(w.t, g.Addr("web"), hosts, nil)
	turning := steady[20]
	if err := population.Turn(w.t.Context(), w.Kubernetes, turning, 0); err != nil {
		w.t.Fatal(err)
	}
	g.becomes(turning.Host+"/", "200 "+turning.Namespace+"/"+population.TurnService(0))
	g.until(func() bool {
		return g.get(turning.Host+"/").Header.Get(population.FieldHost) == population.HostOf("/"+population.TurnService(0))
	}, func() string { return "the host for the endpoint does not change" })
	turned := population.StartTraffic(w.t, g.Addr("web"), []string{turning.Host}, population.HostOf)

	var changes, both int
	var changing sync.WaitGroup
	defer changing.Wait()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	g.until(func() bool { return turned.Answering() == 1 }, func() string { return "there is no traffic" })
	changing.Go(func() { both = population.Turns(ctx, w.t, w.Kubernetes, turning) })
	changing.Go(func() { changes = population.Flip(ctx, w.t, w.Kubernetes, others[:200]) })
	timer := time.NewTimer(4 * time.Second)
	<-timer.C
	// A busy control plane may need longer for the first turn.
	g.until(func() bool { return turned.Answering() == 2 }, func() string { return "one endpoint answers all" })
	cancel()
	changing.Wait()
	calm, mixed := traffic.Stop(), turned.Stop()
	w.t.Logf("%d changes of others and %d turns, %d and %d requests", changes, both, calm.All, mixed.All)
	if calm.Failed > 0 {
		w.t.Errorf("%d of %d requests failed: %s", calm.Failed, calm.All, calm.FirstWrong)
	}
	if mixed.Failed > 0 || mixed.Mixed > 0 {
		w.t.Errorf("of %d requests to a host that changes %d failed and %d were mixed: %s", mixed.All, mixed.Failed,
			mixed.Mixed, mixed.FirstWrong)
	}
	if changes == 0 || both == 0 || len(mixed.Of) != 2 {
		w.t.Errorf("%d changes, %d turns, answers by %v", changes, both, mixed.Of)
	}
}

// goesAll deletes all Ingresses; no host is left.
func goesAll(w *world, g *gate, members []population.Member) {
	population.DeleteIngresses(w.t, w.Kubernetes, members)
	for _, m := range members {
		g.until(func() bool { return g.get(m.Host+m.Path).StatusCode == http.StatusNotFound },
			func() string { return m.Host + " is still served" })
	}
}
