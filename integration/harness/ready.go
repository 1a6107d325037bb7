package harness

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// pause is the time between two questions.
const pause = 2 * time.Millisecond

// Readiness is what /ready answers.
type Readiness struct {
	// Status is the status of the answer.
	Status int `json:"-"`

	Ready       bool
	Draining    bool
	Generation  uint64
	Quarantined int
	Providers   []struct{ Name, State, Reason string }
	Verdicts    []Finding
}

// Finding is a verdict about one object, or a file.
type Finding struct{ Kind, Name, Status, Code, Reason, Origin string }

// Readiness asks /ready on the entrypoint traefik. It fails the test when there is no answer.
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
	defer response.Body.Close() //nolint:errcheck // It was read.
	answer.Status = response.StatusCode
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

// Until asks /ready until the answer is as wanted, and returns it.
func (s *Sluice) Until(what string, wanted func(Readiness) bool) Readiness {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
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

// Apply changes something and waits until a table serves that is newer than the one before.
func (s *Sluice) Apply(change func()) {
	s.t.Helper()
	before := s.Readiness().Generation
	change()
	s.Until("a newer table", func(r Readiness) bool { return r.Generation > before })
}
