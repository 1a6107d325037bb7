package ingressnginx

import (
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/nginx/population"
)

const static = `
entryPoints: {web: {address: "127.0.0.1:0"}, websecure: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
providers:
  kubernetesIngressNGINX:
    endpoint: ${ENDPOINT}
    token: ${TOKEN}
    certAuthFilePath: ${CA}
    httpEntryPoint: web
    httpsEntryPoint: websecure
`

// world is a cluster with many Ingresses.
type world struct {
	*cluster.Cluster

	asked   *settings
	results *results
	members []population.Member
	sluice  *harness.Sluice
}

// BenchmarkIngressNGINX measures every part, and writes the page.
func BenchmarkIngressNGINX(b *testing.B) {
	asked, err := parse()
	if err != nil {
		b.Fatal(err)
	}
	if asked == nil {
		b.Skip("it takes minutes: make bench INGRESS=small")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // Clients that pause would be charged to Sluice.
	r := &results{out: os.Stdout, of: map[string]float64{}}
	began := time.Now()
	w := newWorld(b, asked, r)
	for _, part := range []struct {
		name    string
		measure func(testing.TB)
	}{
		{"start", w.measureStart},
		{"edit", w.measureEdits},
		{"flip", w.measureFlips},
	} {
		if !asked.parts.MatchString(part.name) {
			continue
		}
		part.measure(b)
		if err := r.write(b, asked, began); err != nil { // What was measured is kept when the rest fails.
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

func newWorld(tb testing.TB, asked *settings, r *results) *world {
	tb.Helper()
	w := &world{Cluster: cluster.Start(tb), asked: asked, results: r}
	w.Apply(`{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: nginx},
		spec: {controller: k8s.io/ingress-nginx}}`)
	backends, authority := population.StartBackends(tb), harness.NewAuthority(tb)
	around := population.Around(asked.ingresses, backends, population.Certificates(tb, authority))
	around.Create(tb, w.Kubernetes)
	w.members = population.Make(asked.ingresses)
	population.CreateIngresses(tb, w.Kubernetes, w.members)
	r.say("%d Ingresses for %d hosts: %s", asked.ingresses, len(w.members), population.Describe(w.members))
	return w
}

// start starts Sluice, and stops the one before.
func (w *world) start(tb testing.TB) {
	tb.Helper()
	if w.sluice != nil {
		w.sluice.Stop()
	}
	w.sluice = harness.Start(tb, harness.Setup{Static: static, Vars: map[string]string{
		"ENDPOINT": w.Endpoint, "CA": w.CAFile, "TOKEN": w.Token,
	}})
}

// measureStart starts Sluice again and again.
func (w *world) measureStart(tb testing.TB) {
	tb.Helper()
	var took, used times
	var memory []float64
	for range w.asked.starts {
		if w.sluice != nil {
			w.sluice.Stop()
			w.sluice = nil
		}
		settle(tb, w.PID())
		begun := time.Now()
		w.start(tb)
		took = append(took, time.Since(begun))
		used = append(used, harness.CPU(tb, w.sluice.PID()))
		w.servesAll(tb)
		settle(tb, w.sluice.PID())
		now, _ := w.sluice.Memory()
		memory = append(memory, float64(now)/(1<<20))
		w.results.say("start %d: ready after %.0f ms with %.0f ms of CPU; all hosts are served; %.0f MiB resident afterwards",
			len(took), milliseconds(took[len(took)-1]), milliseconds(used[len(used)-1]), memory[len(memory)-1])
	}
	w.results.note("start", took.share(50).Seconds())
	w.results.note("start-cpu", used.share(50).Seconds())
	w.results.note("start-memory", median(memory))
}

// servesAll sends a request to each host, which answers as its kind does from the first request on.
func (w *world) servesAll(tb testing.TB) {
	tb.Helper()
	p, err := population.Dial(tb.Context(), w.sluice.Addr("web"))
	if err != nil {
		tb.Fatal(err)
	}
	defer p.Close()
	for _, m := range w.members {
		answer, err := p.Ask(m.Host, m.Path)
		if err != nil {
			tb.Fatal(err)
		}
		if answer.StatusCode != m.Status {
			tb.Fatalf("%s of kind %s answers %s, want %d", m.Host, m.Kind, answer.Status, m.Status)
		}
	}
}
