package forward_test

import (
	"net/http"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// exact is a policy of a pool that tries as often as it says, without a budget.
func exact(t *testing.T, change func(*dynamic.ServerRetry)) *retry.Policy {
	t.Helper()
	attempts, budget := 2, retry.NoBudget
	config := &dynamic.ServerRetry{Attempts: &attempts, BudgetPercent: &budget, SameServer: true, Status: []string{"500"}}
	if change != nil {
		change(config)
	}
	policy, err := retry.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// TestExactTries tries one endpoint again and again, and the client gets its last answer when the attempts are used up.
func TestExactTries(t *testing.T) {
	for _, row := range []struct {
		name        string
		parts       []scenario
		change      func(*dynamic.ServerRetry)
		tries, want int
	}{
		{name: "recovers", parts: []scenario{fails(500), fails(500), good}, tries: 3, want: 200},
		{name: "used up", parts: []scenario{fails(500), fails(500), fails(500), good}, tries: 3, want: 500},
		{name: "other status", parts: []scenario{fails(503), good}, tries: 1, want: 503},
		{name: "connection error", parts: []scenario{closes, good}, tries: 2, want: 200},
		{
			name: "no retry of connection errors", parts: []scenario{closes, good}, tries: 1, want: 502,
			change: func(r *dynamic.ServerRetry) { r.DisableRetryOnNetworkError = true },
		},
		{
			name: "status without connection errors", parts: []scenario{fails(500), good}, tries: 2, want: 200,
			change: func(r *dynamic.ServerRetry) { r.DisableRetryOnNetworkError = true },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			endpoints := newEndpoints(row.parts...)
			s := setup{options: forward.Options{Retry: exact(t, row.change)}}
			s.policies.RetryPercent = retry.NoBudget
			g := newServers(t, s, 1, endpoints)
			response, _ := g.get(t, "/")
			equal(t, "status", response.StatusCode, row.want)
			equal(t, "tries", endpoints.tries(), row.tries)
		})
	}
}

// TestTimeForATryWithoutRetries answers 504 when the only try takes too long.
func TestTimeForATryWithoutRetries(t *testing.T) {
	t.Parallel()
	endpoints := newEndpoints()
	endpoints.parts = []scenario{endpoints.hangs}
	none := 0
	policy := exact(t, func(r *dynamic.ServerRetry) {
		// The request has to reach the endpoint in the time for a try, also on a busy machine.
		r.Attempts, r.PerTryTimeout = &none, ptypes.Duration(2*time.Second)
	})
	g := newServers(t, setup{options: forward.Options{Retry: policy}}, 1, endpoints)
	response, _ := g.get(t, "/")
	equal(t, "status", response.StatusCode, http.StatusGatewayTimeout)
	equal(t, "tries", endpoints.tries(), 1)
}

// TestErrorsOfGRPC have a status code of gRPC.
func TestErrorsOfGRPC(t *testing.T) {
	g := newServers(t, setup{front: "h2", upstream: "h2c"}, 1, newEndpoints(closes))
	r := request(t, http.MethodPost, g.url+"/a.B/C", nil)
	r.Header.Set("Content-Type", "application/grpc")
	response, body := g.do(t, r)
	equal(t, "answer", []any{response.StatusCode, response.Header.Get("Grpc-Status"), body}, []any{200, "14", ""})
}
