package balance

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// plan is what clients send to a service.
type plan struct {
	service, method, body string
	// rate is how many requests begin each second, whether those before have been answered or not.
	rate int
	// limit is the timeout of a client; 0 means ten seconds.
	limit time.Duration
	// prepare makes each request a different one; it may be nil.
	prepare func(number int, r *http.Request)
}

// atOnce is how many requests of a plan are under way at most.
const atOnce = 1000

// answer is the result of a request.
type answer struct {
	began    time.Time
	took     time.Duration
	status   int // 0 without an answer
	endpoint string
	err      error
}

// record is the answers to a plan.
type record []answer

// traffic is a plan that is being carried out.
type traffic struct {
	client *harness.Client
	plan   plan
	done   chan struct{}
	once   sync.Once
	busy   sync.WaitGroup
	places chan struct{}

	mutex   sync.Mutex
	answers record
	begun   int
}

// send begins to carry out a plan, which ends with the test.
func (p *proxy) send(what plan) *traffic { return begin(p.t, p.client(what.service), what) }

// begin carries out a plan with the given client until the test ends.
func begin(test *testing.T, client *harness.Client, what plan) *traffic {
	test.Helper()
	t := &traffic{client: client, plan: what, done: make(chan struct{}), places: make(chan struct{}, atOnce)}
	t.client.Timeout = cmp.Or(what.limit, 10*time.Second)
	t.client.Transport.MaxIdleConnsPerHost = atOnce
	t.busy.Go(t.run)
	test.Cleanup(func() { t.end() })
	return t
}

// direct sends requests to each of the endpoints, past Sluice.
type direct []*traffic

func sendDirect(test *testing.T, fleet ...*endpoint) (d direct) {
	test.Helper()
	for _, e := range fleet {
		d = append(d, begin(test, harness.NewClient(test, harness.H1, e.address, e.name+".test", nil), plan{rate: 50}))
	}
	return d
}

// stalled ends the requests, and returns the longest time of those from a time to another that one took, or was begun
// after the one before it: for so long the machine kept an endpoint or this process from running.
func (d direct) stalled(from, until time.Time) (longest time.Duration) {
	for _, load := range d {
		last := from
		for _, a := range load.end().from(from).before(until) {
			longest, last = max(longest, a.took, a.began.Sub(last)), a.began
		}
	}
	return longest
}

// run begins each request when it is due.
func (t *traffic) run() {
	began := time.Now()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for number := 0; ; {
		for due := int(time.Since(began).Seconds() * float64(t.plan.rate)); number < due; number++ {
			t.places <- struct{}{}
			t.mutex.Lock()
			t.begun++
			t.mutex.Unlock()
			t.busy.Go(func() {
				t.note(t.ask(number))
				<-t.places
			})
		}
		select {
		case <-ticker.C:
		case <-t.done:
			return
		}
	}
}

func (t *traffic) ask(number int) answer { return ask(t.client, t.plan, number) }

// ask sends one request of a plan.
func ask(client *harness.Client, what plan, number int) answer {
	method := cmp.Or(what.method, http.MethodGet)
	request := client.Request(method, "/", nil)
	if what.body != "" {
		request = client.Request(method, "/", strings.NewReader(what.body))
	}
	if what.prepare != nil {
		what.prepare(number, request)
	}
	began := time.Now()
	response, err := client.Try(request)
	a := answer{began: began, took: time.Since(began), err: err}
	if err == nil {
		a.status, a.endpoint = response.StatusCode, response.Header.Get("X-Endpoint")
		if want := strings.TrimSpace(method + " / " + what.body); a.status == http.StatusOK &&
			strings.TrimSpace(response.Text) != want {
			a.err = fmt.Errorf("the answer is %q", response.Text)
		}
	}
	return a
}

func (t *traffic) note(a answer) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.answers = append(t.answers, a)
}

// so returns the answers until now, and how many requests have begun.
func (t *traffic) so() (record, int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Clone(t.answers), t.begun
}

// end stops sending and returns all answers in the order of their requests.
func (t *traffic) end() record {
	t.once.Do(func() { close(t.done) })
	t.busy.Wait()
	all, _ := t.so()
	slices.SortFunc(all, func(a, b answer) int { return a.began.Compare(b.began) })
	return all
}

// awaitShares waits until each of the endpoints has given at least the share (of 1) of the last answers, all of which
// were good and to requests that began since a time, and returns how long after that it was so.
func (t *traffic) awaitShares(test *testing.T, since time.Time, share float64, endpoints []string) time.Duration {
	test.Helper()
	const window = 200
	until(test, "each endpoint gets its share", func() bool {
		all, _ := t.so()
		last := all.from(since)
		last = last[max(0, len(last)-window):]
		by := last.by()
		return len(last) == window && len(last.failed()) == 0 && !slices.ContainsFunc(endpoints, func(name string) bool {
			return float64(by[name]) < share*window
		})
	})
	return time.Since(since)
}

// burst sends a number of requests, some at a time and each as soon as one before is answered.
func (p *proxy) burst(what plan, number, together int) record {
	client := p.client(what.service)
	numbers := make(chan int, number)
	for i := range number {
		numbers <- i
	}
	close(numbers)
	var busy sync.WaitGroup
	parts := make([]record, together)
	for i := range parts {
		busy.Go(func() {
			for number := range numbers {
				parts[i] = append(parts[i], ask(client, what, number))
			}
		})
	}
	busy.Wait()
	return slices.Concat(parts...)
}

// rounds sends requests in rounds, each with some at a time. The endpoints hold those of a round until all are there,
// so that each is sent while the ones before it are in flight, however fast the machine is.
func (p *proxy) rounds(t *testing.T, what plan, fleet []*endpoint, number, together int) (all record) {
	t.Helper()
	client := p.client(what.service)
	held := func() (sum int64) {
		for _, e := range fleet {
			sum += e.held.Load()
		}
		return sum
	}
	for _, e := range fleet {
		e.mode.Store(holds)
	}
	for round := range number {
		var busy sync.WaitGroup
		part, before := make(record, together), held()
		for i := range part {
			busy.Go(func() { part[i] = ask(client, what, round*together+i) })
		}
		until(t, "a round of requests is held", func() bool { return held() == before+int64(together) })
		for _, e := range fleet {
			e.released.Store(e.held.Load())
		}
		busy.Wait()
		all = append(all, part...)
	}
	for _, e := range fleet {
		e.mode.Store(answers)
	}
	return all
}

// failed returns the answers that were not 2xx.
func (r record) failed() record {
	return r.where(func(a answer) bool { return a.err != nil || a.status < 200 || a.status > 299 })
}

// from returns the answers to requests that began at a time or later, before those to requests from before it.
func (r record) from(when time.Time) record {
	return r.where(func(a answer) bool { return !a.began.Before(when) })
}

func (r record) before(when time.Time) record {
	return r.where(func(a answer) bool { return a.began.Before(when) })
}

func (r record) where(holds func(answer) bool) record {
	var found record
	for _, a := range r {
		if holds(a) {
			found = append(found, a)
		}
	}
	return found
}

// by counts the answers by the endpoint that they are from.
func (r record) by() map[string]int {
	counts := map[string]int{}
	for _, a := range r {
		counts[a.endpoint]++
	}
	return counts
}

// percentile is the time within which a share (of 1) of the answers came.
func (r record) percentile(share float64) time.Duration {
	if len(r) == 0 {
		return 0
	}
	times := make([]time.Duration, len(r))
	for i, a := range r {
		times[i] = a.took
	}
	slices.Sort(times)
	return times[min(int(float64(len(times))*share), len(times)-1)]
}

// String counts the answers by what they are.
func (r record) String() string {
	kinds := map[string]int{}
	for _, a := range r {
		kind := fmt.Sprint(a.status, " from ", cmp.Or(a.endpoint, "nobody"))
		if a.err != nil {
			if kind = a.err.Error(); strings.Contains(kind, "Client.Timeout") {
				kind = "no answer in time"
			}
		}
		kinds[kind]++
	}
	var text strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&text, "%d x %s; ", kinds[kind], kind)
	}
	return strings.TrimSuffix(text.String(), "; ")
}
