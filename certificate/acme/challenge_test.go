package acme_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/static"
)

// request sends a request for an HTTP-01 challenge to a replica, and returns the status.
func (r *replica) request(t *testing.T, host, token string) int {
	t.Helper()
	recorder := httptest.NewRecorder()
	r.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+host+acme.ChallengePath+token, nil))
	return recorder.Code
}

// put stores a challenge that was presented some time ago.
func (r *replicas) put(t *testing.T, name, token string, age time.Duration) storage.Key {
	t.Helper()
	key := storage.Key{Kind: storage.KindChallenge, Resolver: "le", ID: "http-01/" + token}
	value, _ := json.Marshal(map[string]any{
		"type": "http-01", "identifier": map[string]string{"type": "dns", "value": name},
		"keyAuthorization": token + ".x", "created": time.Now().Add(-age),
	})
	if err := r.storage.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
	return key
}

// IP addresses are validated by both challenges; TLS-ALPN-01 names them by their reverse mapping.
func TestAddresses(t *testing.T) {
	for _, kind := range []string{"http", "tls"} {
		t.Run(kind, func(t *testing.T) {
			group := newReplicas(t)
			authority := newAuthority(t, group, acmetest.Options{})
			config := authority.Config()
			if kind == "tls" {
				config.HTTPChallenge, config.TLSChallenge = nil, &static.TLSChallenge{}
			}
			replica := group.one(config)
			replica.Want(want("le", "127.0.0.1"), uncovered)
			replica.await(t, "le", "127.0.0.1")
		})
	}
}

// Requests with random tokens do not keep a validation from being answered.
func TestRandomTokensDoNotHideAChallenge(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	replica := group.one(authority.Config())
	replica.Want(nil, uncovered)
	statuses := make(chan int)
	const requests = 200
	for i := range requests {
		go func() { statuses <- replica.request(t, "a.example.com", fmt.Sprint("random", i)) }()
	}
	early := make(chan int)
	go func() { early <- replica.request(t, "a.example.com", "wanted") }()
	group.put(t, "a.example.com", "wanted", 0)
	if status := <-early; status != http.StatusOK {
		t.Errorf("the challenge was answered with %d", status)
	}
	for range requests {
		if status := <-statuses; status != http.StatusNotFound {
			t.Errorf("a random token was answered with %d", status)
		}
	}
}

// A challenge whose leader has died is removed, and one that is being validated is not.
func TestLeftChallengesAreRemoved(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	left, fresh := group.put(t, "a.example.com", "left", 25*time.Hour), group.put(t, "a.example.com", "fresh", time.Minute)
	replica := group.one(authority.Config())
	replica.Want(nil, uncovered)
	eventually(t, func() bool {
		_, err := group.storage.Get(t.Context(), left)
		return err != nil
	}, func() string { return "the challenge is still stored" })
	if _, err := group.storage.Get(t.Context(), fresh); err != nil {
		t.Error(err)
	}
}

// A replica that stops during a validation leaves the challenge to its successor, which completes the order.
func TestStoppedLeaderLeavesItsChallenges(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	first := group.one(authority.Config())
	validating, release := make(chan struct{}, 1), make(chan struct{})
	group.http.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case validating <- struct{}{}:
		default:
		}
		<-release // The authority sends several requests at a time.
		if one := group.pick(); one != nil {
			one.ServeHTTP(w, r)
		}
	})
	first.Want(want("le", "a.example.com"), uncovered)
	<-validating
	group.stop(first)
	if keys := group.memory().Keys(storage.KindChallenge); len(keys) != 1 {
		t.Errorf("challenges in the storage: %v", keys)
	}
	second := group.one(authority.Config())
	second.Want(want("le", "a.example.com"), uncovered)
	close(release)
	second.await(t, "le", "a.example.com")
	if orders := authority.Orders(); len(orders) != 1 {
		t.Errorf("orders %q", orders)
	}
}
