package population

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

const (
	// clients is how many connections send requests, requestEvery the time between two requests of each.
	clients, requestEvery = 4, 2 * time.Millisecond
)

// Tally counts answers.
type Tally struct {
	// All is the number of requests, Failed that of those without the status 200, and Mixed that of those that an endpoint
	// got with the host of another one.
	All, Failed, Mixed int
	// Of are the answers by the names of endpoints.
	Of map[string]int
	// FirstWrong describes the first answer that failed or was mixed.
	FirstWrong string
}

// Traffic sends requests to hosts in turn.
type Traffic struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mutex sync.Mutex
	tally Tally
}

// StartTraffic sends requests to an address until Stop. Where an endpoint has to be requested by a certain host, hostOf
// returns that for its name; it may be nil.
func StartTraffic(tb testing.TB, address string, hosts []string, hostOf func(backend string) string) *Traffic {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	t := &Traffic{cancel: cancel, tally: Tally{Of: map[string]int{}}}
	for client := range clients {
		t.running.Go(func() { t.run(ctx, address, hosts, client, hostOf) })
	}
	return t
}

// Stop waits until all requests have been answered, and returns the counts.
func (t *Traffic) Stop() Tally {
	t.cancel()
	t.running.Wait()
	return t.tally
}

// Answering returns how many endpoints have answered so far.
func (t *Traffic) Answering() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return len(t.tally.Of)
}

func (t *Traffic) run(ctx context.Context, address string, hosts []string, turn int, hostOf func(string) string) {
	ticker := time.NewTicker(requestEvery)
	defer ticker.Stop()
	var p *Probe
	for ; ; turn++ {
		select {
		case <-ctx.Done():
			if p != nil {
				p.Close()
			}
			return
		case <-ticker.C:
		}
		var err error
		if p == nil {
			if p, err = Dial(context.WithoutCancel(ctx), address); err != nil {
				p = nil
				t.add(nil, err, hostOf)
				continue
			}
		}
		answer, err := p.Ask(hosts[turn%len(hosts)], "/")
		t.add(answer, err, hostOf)
		if err != nil {
			p.Close()
			p = nil
		}
	}
}

// add counts an answer.
func (t *Traffic) add(answer *http.Response, err error, hostOf func(string) string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.tally.All++
	wrong := ""
	switch {
	case err != nil:
		t.tally.Failed++
		wrong = err.Error()
	case answer.StatusCode != http.StatusOK:
		t.tally.Failed++
		wrong = answer.Status
	default:
		backend, host := answer.Header.Get(FieldBackend), answer.Header.Get(FieldHost)
		t.tally.Of[backend]++
		if hostOf != nil && hostOf(backend) != host {
			t.tally.Mixed++
			wrong = backend + " is requested by the host " + host
		}
	}
	if wrong != "" && t.tally.FirstWrong == "" {
		t.tally.FirstWrong = fmt.Sprintf("%s at %s", wrong, time.Now().UTC().Format(time.StampMicro))
	}
}
