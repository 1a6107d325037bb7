package kubernetes

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// xdsAddress is where Sluice publishes, in the namespace of the benchmark.
	xdsAddress = "127.0.0.1:18000"
	// xdsStreams is the number of clients, each with xdsNames services; deafStreams more read nothing.
	xdsStreams, xdsNames, deafStreams = 2000, 20, 20
	// xdsMoves endpoint changes are made at xdsRate a second.
	xdsMoves, xdsRate = 1000, 100
	// edgeRequests are sent to measure the latency of the edge.
	edgeRequests = 2000
)

// measureXDS measures what 2,000 xDS clients cost the Sluice that publishes to them, and how long changes take to
// reach them.
func measureXDS(tb testing.TB, w *world, r *results) {
	tb.Helper()
	s := startWith(tb, w, r, static+"xds: {address: \""+xdsAddress+"\"}\n")
	defer s.Stop()
	s.informer = newInformer(tb, w.Kubeconfig)
	defer s.informer.stop(tb)
	s.settle(tb)
	s.xdsChurn(tb, nil)
	alone := s.xdsLatency(tb)
	resident, _ := s.Memory()
	c := newClients(tb, subscribers{
		Address: xdsAddress, Streams: xdsStreams, Names: xdsNames, Services: len(w.slices), Deaf: deafStreams,
	})
	defer c.stop(tb)
	s.settle(tb)
	with, _ := s.Memory()
	now := s.account(tb)
	s.note("xds-stream", float64(with-resident)/1024/(xdsStreams+deafStreams), now, now,
		"%d streams with %d services each: %d MiB resident before, %d MiB after", xdsStreams+deafStreams, xdsNames,
		resident>>20, with>>20)
	s.xdsChurn(tb, c)
	followed := s.xdsLatency(tb)
	s.note("xds-edge", float64(followed.took.median())/float64(alone.took.median()), followed.before, followed.after,
		"requests during %d changes a second, without streams: %s; with them: %s", xdsRate, alone.took, followed.took)
	measureExchange(tb, s)
	after, _ := s.Memory()
	s.note("", 0, now, now, "after the changes: %d MiB resident", after>>20)
}

// xdsChurn changes endpoints at a steady rate, and notes what that costs and when it reaches the clients, if there are
// any.
func (s *subject) xdsChurn(tb testing.TB, c *clients) {
	tb.Helper()
	s.settle(tb)
	idle := s.account(tb)
	pause(tb.Context(), xdsMoves*time.Second/xdsRate)
	asked := map[string]time.Time{}
	before := s.account(tb)
	s.steadily(tb, xdsRate, xdsMoves, func(ctx context.Context, i int) error {
		asked[namespace(i)+"/"+service(i)] = time.Now()
		_, err := s.world.move(ctx, i)
		return err
	})
	pause(tb.Context(), tail)
	after := s.account(tb)
	length := after.when.Sub(before.when)
	used := after.sluice - before.sluice -
		time.Duration(float64(before.sluice-idle.sluice)*float64(length)/float64(before.when.Sub(idle.when)))
	if c == nil {
		s.note("xds-alone", each1(used, xdsMoves), before, after,
			"%d endpoint changes at %d/s, without streams: %v of CPU", xdsMoves, xdsRate, rounded(used))
		return
	}
	s.noteReport(tb, c.report(tb), asked, used, before, after)
}

// latency is how long requests took while endpoints changed.
type latency struct {
	took          times
	before, after account
}

// xdsLatency sends requests through the process that publishes, while endpoints change at a steady rate.
func (s *subject) xdsLatency(tb testing.TB) latency {
	tb.Helper()
	s.settle(tb)
	before := s.account(tb)
	var took times
	var requests sync.WaitGroup
	requests.Go(func() { took = s.requests(tb) })
	s.steadily(tb, xdsRate, xdsMoves, func(ctx context.Context, i int) error {
		_, err := s.world.move(ctx, i)
		return err
	})
	requests.Wait()
	return latency{took, before, s.account(tb)}
}

// noteReport notes what the clients have received.
func (s *subject) noteReport(
	tb testing.TB, report pushed, asked map[string]time.Time, used time.Duration, before, after account,
) {
	tb.Helper()
	var took times
	for name, at := range report.First {
		_, key, _ := strings.Cut(strings.TrimSuffix(name, ":80"), "/")
		if begun, known := asked[key]; known {
			took = append(took, time.Unix(0, at).Sub(begun))
		}
	}
	if len(took) < len(asked)*9/10 {
		tb.Fatalf("%d of %d changes have reached a client", len(took), len(asked))
	}
	s.note("xds-median", milliseconds(took.median()), before, after,
		"%d endpoint changes at %d/s, from before the request to the API server to the first client: %s", xdsMoves, xdsRate,
		took)
	s.note("xds-p99", milliseconds(took.share(99)), before, after, "")
	alone := s.results.of[s.size]["xds-alone"]
	pushes := each1(used, report.Pushes) - middle(alone.values)*xdsMoves/float64(report.Pushes)
	s.note("xds-push", 1000*pushes, before, after,
		"%d responses with endpoints, %.1f for each change: %v of CPU, %.3f ms for each change", report.Pushes,
		float64(report.Pushes)/xdsMoves, rounded(used), each1(used, xdsMoves))
}

// requests sends requests one after the other, at a rate that makes no load, and returns how long each took.
func (s *subject) requests(tb testing.TB) (took times) {
	p := s.dial(tb)
	defer p.close()
	ticker := time.NewTicker(xdsMoves * time.Second / xdsRate / edgeRequests)
	defer ticker.Stop()
	for n := range edgeRequests {
		<-ticker.C
		begun := time.Now()
		if status, _, err := p.ask(host(n%s.size), path); err != nil || status != 200 {
			tb.Errorf("a request during changes: %d %v", status, err)
			return took
		}
		took = append(took, time.Since(begun))
	}
	return took
}
