package harness

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// pause is the polling interval.
const pause = 2 * time.Millisecond

// Readiness is the response of /ready.
type Readiness struct {
	// Status is the HTTP status.
	Status int `json:"-"`

	Ready       bool
	Draining    bool
	Generation  uint64
	Quarantined int
	Retained    int
	Providers   []struct{ Name, State, Reason string }
	Verdicts    []Finding
}

// Finding is a verdict on an object or a file.
type Finding struct{ Kind, Name, Status, Code, Reason, Origin string }

// Readiness requests /ready on the entrypoint traefik. It fails the test without a response.
func (s *Sluice) Readiness() Readiness {
	s.t.Helper()
	answer, err := s.readiness(s.t.Context(), s.Addr("traefik"))
	if err != nil {
		s.t.Fatalf("/ready: %v\n%s", err, s.Log)
	}
	return answer
}

// Management returns a client for the entrypoint traefik, which makes a connection for each request.
func (s *Sluice) Management() *Client {
	s.t.Helper()
	client := NewClient(s.t, H1, s.Addr("traefik"), "localhost", nil)
	client.Transport.DisableKeepAlives = true
	return client
}

func (s *Sluice) readiness(ctx context.Context, address string) (Readiness, error) {
	var answer Readiness
	transport := &http.Transport{DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/ready", nil)
	if err != nil {
		return answer, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close() //nolint:errcheck // already read
	answer.Status = response.StatusCode
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

// Until requests /ready until wanted is true, and returns the response.
func (s *Sluice) Until(what string, wanted func(Readiness) bool) Readiness {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), timeout)
	defer cancel()
	stop := s.cancelAtEnd(cancel)
	defer stop()
	address := s.Addr("traefik")
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		answer, err := s.readiness(ctx, address)
		if err == nil && wanted(answer) {
			return answer
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			s.t.Fatalf("%s: not so in time: %+v %v\n%s", what, answer, err, s.Log)
		}
	}
}

func (s *Sluice) awaitReady() {
	s.t.Helper()
	s.Until("ready", func(r Readiness) bool { return r.Status == http.StatusOK })
}

// Apply makes a change and waits until a newer table is active.
func (s *Sluice) Apply(change func()) {
	s.t.Helper()
	before := s.Readiness().Generation
	change()
	s.Until("a newer table", func(r Readiness) bool { return r.Generation > before })
}
