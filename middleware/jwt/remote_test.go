package jwt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	passes    = http.StatusNoContent
	noKeys    = "there are no keys to verify tokens with"
	failing   = "error the key set can't be fetched, and requests are refused"
	stillGood = "warn the key set can't be fetched, and the last one still counts"
	again     = "info the key set can be fetched again"
	begun     = "debug the key set has been fetched"
)

// A provider changes its key: tokens of the new one pass at once, those of the old one no longer, though they were
// cached.
func TestRotation(t *testing.T) {
	second, third := anotherKey(t), anotherKey(t)
	synctest.Test(t, func(t *testing.T) {
		logger := new(lines)
		p := startProvider(t)
		j := p.guard(t, logger, nil)
		first := p.token(t)
		for range 3 {
			expect(t, j, first, passes, "")
		}
		if p.asked.Load() != 1 || j.Counts()["remembered"] != 2 {
			t.Errorf("fetched %d times, and counted %v", p.asked.Load(), j.Counts())
		}
		pass(20 * time.Second)
		p.rotate(t, second)
		expect(t, j, first, passes, "") // The new key has not been fetched.
		newer := p.token(t)
		expect(t, j, newer, passes, "")
		expect(t, j, first, http.StatusUnauthorized, "unknown key")
		p.rotate(t, third)
		newest := p.token(t)
		expect(t, j, newest, http.StatusUnauthorized, "unknown key") // The last fetch was a moment ago.
		pass(9 * time.Second)
		expect(t, j, newest, http.StatusUnauthorized, "unknown key")
		expect(t, j, newer, passes, "")
		pass(time.Second)
		expect(t, j, newest, passes, "")
		expect(t, j, newer, http.StatusUnauthorized, "unknown key")
		if p.asked.Load() != 3 {
			t.Errorf("the provider got %d requests", p.asked.Load())
		}
		logged(t, logger, begun)
	})
}

// A key vanishes within the interval, also when no token refers to another.
func TestRefresh(t *testing.T) {
	second := anotherKey(t)
	synctest.Test(t, func(t *testing.T) {
		p := startProvider(t)
		j := p.guard(t, new(lines), func(config *dynamic.JWT) { config.RefreshInterval = 120e9 })
		token := p.token(t)
		expect(t, j, token, passes, "")
		p.rotate(t, second)
		pass(107 * time.Second)
		expect(t, j, token, passes, "")
		pass(14 * time.Second)
		expect(t, j, token, http.StatusUnauthorized, "unknown key")
		asked := p.asked.Load()
		pass(time.Hour)
		if n := p.asked.Load() - asked; n < 29 || n > 35 {
			t.Errorf("fetched %d times in an hour", n)
		}
		j.Close()
		asked = p.asked.Load()
		pass(time.Hour)
		if p.asked.Load() != asked {
			t.Error("it fetches on after it was closed")
		}
		expect(t, j, p.token(t), passes, "") // Requests that are still in it are judged.
	})
}

// Nothing runs and nothing is fetched before the first request.
func TestNothingRunsBeforeTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProvider(t)
		j := p.guard(t, new(lines), nil)
		pass(24 * time.Hour)
		if state, levels := j.Status(); p.asked.Load() != 0 || state != "waiting" || levels["keys"] != 0 {
			t.Errorf("fetched %d times, state %s %v", p.asked.Load(), state, levels)
		}
		expect(t, j, "", http.StatusUnauthorized, "the request has no token")
		if p.asked.Load() != 0 {
			t.Error("fetched for a request without a token")
		}
	})
}

func TestProviderIsDeadAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := new(lines)
		p := startProvider(t)
		p.network.dead.Store(true)
		j := p.guard(t, logger, nil)
		token := p.token(t)
		r := request(t, token)
		answer, got := serve(j, r)
		if got != nil || answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") != "10" ||
			answer.Header().Get("Www-Authenticate") != "" {
			t.Errorf("answers %d, %v", answer.Code, answer.Header())
		}
		for range 100 {
			expect(t, j, token, http.StatusServiceUnavailable, noKeys)
			pass(time.Second)
		}
		logged(t, logger, failing)
		if state, _ := j.Status(); state != "keyless" || j.Counts()["failed"] > 10 || j.Counts()["unavailable"] != 101 {
			t.Errorf("stands %s, counts %v", state, j.Counts())
		}
		p.network.dead.Store(false)
		pass(maxBackoff + time.Second) // The pauses grow no longer than this.
		expect(t, j, token, passes, "")
		logged(t, logger, again)
		if state, levels := j.Status(); state != "" || levels["keys"] != 1 || levels["remembered"] != 1 {
			t.Errorf("stands %q %v", state, levels)
		}
	})
}

// The last keys count for a day, and no longer, when a provider fails in whatever way.
func TestProviderFailsLater(t *testing.T) {
	for name, misbehave := range map[string]func(w http.ResponseWriter, r *http.Request){
		"hangs":     func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"half":      func(w http.ResponseWriter, r *http.Request) { say(w, `{"keys":[`); flush(w); <-r.Context().Done() },
		"garbage":   func(w http.ResponseWriter, _ *http.Request) { say(w, "\x00\xff<html>") },
		"no set":    func(w http.ResponseWriter, _ *http.Request) { say(w, `{}`) },
		"null":      func(w http.ResponseWriter, _ *http.Request) { say(w, `null`) },
		"no list":   func(w http.ResponseWriter, _ *http.Request) { say(w, `{"keys":{}}`) },
		"twice":     func(w http.ResponseWriter, _ *http.Request) { say(w, `{"keys":[],"keys":[]}`) },
		"many keys": func(w http.ResponseWriter, _ *http.Request) { say(w, `{"keys":[`+strings.Repeat("{},", 100)+"{}]}") },
		"error":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "" {
				http.Redirect(w, r, r.URL.Path+"?there", http.StatusFound)
				return
			}
			say(w, jwksOf(t, member(t, "another", keys().rsa)))
		},
		"aborts": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logger := new(lines)
				p := startProvider(t)
				j := p.guard(t, logger, nil)
				p.AccessTTL = 1000 * time.Hour
				token := p.token(t)
				expect(t, j, token, passes, "")
				p.behave(misbehave)
				pass(2 * time.Hour)
				expect(t, j, token, passes, "")
				if state, _ := j.Status(); state != "stale" {
					t.Errorf("stands %q", state)
				}
				pass(22*time.Hour + 50*time.Minute)
				expect(t, j, token, passes, "")
				pass(20 * time.Minute)
				expect(t, j, token, http.StatusServiceUnavailable, noKeys)
				logged(t, logger, begun, stillGood, failing)
				p.behave(nil)
				pass(10 * time.Minute)
				expect(t, j, token, passes, "")
				logged(t, logger, again)
			})
		})
	}
}

// A set that is longer, or deeper, than any is never read to its end.
func TestHugeSets(t *testing.T) {
	for name, text := range map[string]string{
		"is longer than 1048576 bytes": strings.Repeat(" ", 3<<20),
		"is no JSON":                   `{"keys":` + strings.Repeat("[", 1<<20-100),
	} {
		synctest.Test(t, func(t *testing.T) {
			logger := new(lines)
			p := startProvider(t)
			p.behave(func(w http.ResponseWriter, _ *http.Request) { say(w, text) })
			j := p.guard(t, logger, nil)
			expect(t, j, p.token(t), http.StatusServiceUnavailable, noKeys)
			if got := logger.take(); len(got) != 1 || !strings.Contains(got[0], name) {
				t.Errorf("logs %q", got)
			}
		})
	}
}

// No more of an answer is read than a set can have.
func TestEndlessSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, sent := startProvider(t), atomic.Int64{}
		chunk := []byte(strings.Repeat(" ", 1<<20))
		p.behave(func(w http.ResponseWriter, _ *http.Request) {
			for range 32 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
				sent.Add(1)
			}
		})
		expect(t, p.guard(t, new(lines), nil), p.token(t), http.StatusServiceUnavailable, noKeys)
		if sent.Load() > 2 {
			t.Errorf("%d MiB were read", sent.Load())
		}
	})
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func say(w http.ResponseWriter, text string) { _, _ = w.Write([]byte(text)) }

// What an issuer takes out of its set counts no longer, also when nothing is left.
func TestEmptySet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := new(lines)
		p := startProvider(t)
		j := p.guard(t, logger, nil)
		token := p.token(t)
		expect(t, j, token, passes, "")
		p.behave(func(w http.ResponseWriter, _ *http.Request) { say(w, `{"keys":[]}`) })
		pass(time.Hour)
		expect(t, j, token, http.StatusServiceUnavailable, noKeys)
		logged(t, logger, begun, failing)
		p.behave(nil)
		pass(time.Minute)
		expect(t, j, p.token(t), passes, "")
	})
}

// A server that does not answer costs a request five seconds, all requests one fetch, and those that come later
// nothing.
func TestFirstRequestsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProvider(t)
		p.behave(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		j := p.guard(t, new(lines), nil)
		token, start := p.token(t), time.Now()
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() { expect(t, j, token, http.StatusServiceUnavailable, noKeys) })
		}
		group.Wait()
		if waited := time.Since(start); waited != fetchTimeout || p.asked.Load() != 1 {
			t.Errorf("waited %v for %d fetches", waited, p.asked.Load())
		}
		expect(t, j, token, http.StatusServiceUnavailable, noKeys)
		if time.Since(start) != fetchTimeout {
			t.Error("the next one waits, too")
		}
		p.behave(func(w http.ResponseWriter, r *http.Request) {
			pass(2 * time.Second)
			p.JWKS(w, r)
		})
		pass(5 * time.Second)
		start = time.Now()
		for range 50 {
			group.Go(func() { expect(t, j, token, passes, "") })
		}
		group.Wait()
		if waited := time.Since(start); waited > 3*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// A client that leaves ends its wait, and Close ends all waits.
func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProvider(t)
		p.behave(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		j := p.guard(t, new(lines), nil)
		start := time.Now()
		for name, test := range map[string]struct {
			cause  error
			status int
		}{"left": {context.Canceled, telemetry.StatusClientClosedRequest}, "late": {context.DeadlineExceeded, 0}} {
			r := request(t, p.token(t))
			ctx, cancel := context.WithCancel(r.Context())
			if test.cause == context.DeadlineExceeded { //nolint:errorlint // It is our own.
				ctx, cancel = context.WithTimeout(r.Context(), time.Millisecond)
			} else {
				cancel()
			}
			answer, got := serve(j, r.WithContext(ctx))
			cancel()
			record := telemetry.RecordFrom(r.Context())
			if got != nil || record.Status != test.status || test.status == 0 && answer.Code != http.StatusGatewayTimeout {
				t.Errorf("%s: passes %v, answers %d, recorded %d", name, got != nil, answer.Code, record.Status)
			}
		}
		var group sync.WaitGroup
		group.Go(func() { expect(t, j, p.token(t), http.StatusServiceUnavailable, noKeys) })
		synctest.Wait()
		j.Close()
		group.Wait()
		if waited := time.Since(start); waited > time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// Unknown keys, however many, cause one fetch in ten seconds, and no wait of other requests.
func TestUnknownKeysAmplifyNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProvider(t)
		j := p.guard(t, new(lines), nil)
		good := p.token(t)
		expect(t, j, good, passes, "")
		pass(time.Minute)
		asked := p.asked.Load()
		_, payload, signature := split(sign(t, jose.RS256, keys().otherRSA, claimsWith(nil), nil))
		for i := range 600 {
			for _, head := range []string{
				`{"alg":"RS256","kid":"` + fmt.Sprint(i) + `"}`, `{"alg":"RS256"}`, `{"alg":"none"}`,
				`{"alg":"HS256","kid":"x"}`,
			} {
				serve(j, request(t, encode([]byte(head))+"."+payload+"."+signature))
			}
			pass(100 * time.Millisecond)
		}
		if n := p.asked.Load() - asked; n > 7 {
			t.Errorf("fetched %d times in a minute", n)
		}
		p.behave(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		pass(10 * time.Second)
		var group sync.WaitGroup
		group.Go(func() {
			serve(j, request(t, sign(t, jose.RS256, keys().rsa, claimsWith(nil), map[string]any{"kid": "?"})))
		})
		synctest.Wait()
		start := time.Now()
		expect(t, j, good, passes, "")
		if time.Since(start) != 0 {
			t.Error("a good token waits for the fetch that a bad one caused")
		}
		group.Wait()
		if time.Since(start) != fetchTimeout {
			t.Errorf("the bad one waited %v", time.Since(start))
		}
		j.keys.(*remote).queue.Store(maxWaiting)
		pass(10 * time.Second)
		start = time.Now()
		serve(j, request(t, sign(t, jose.RS256, keys().rsa, claimsWith(nil), map[string]any{"kid": "?"})))
		if time.Since(start) != 0 {
			t.Error("it waits beside too many others")
		}
	})
}

// What of a fetched set is left out, and what is said about it.
func TestFetchedKeysOfNoUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring, logger := keys(), new(lines)
		set := jwksOf(t,
			member(t, "good", ring.rsa, "use", "sig", "alg", "RS256"),
			member(t, "weak", ring.weakRSA),
			member(t, "enc", ring.otherRSA, "use", "enc"),
			member(t, "oaep", ring.otherRSA, "alg", "RSA-OAEP-256"),
			member(t, "ops", ring.otherRSA, "key_ops", []string{"encrypt"}),
			map[string]any{"kty": "oct", "kid": "oct", "k": encode([]byte(secret))},
			map[string]any{"kty": "RSA", "kid": "private", "n": "AQAB", "e": "AQAB", "d": "AQAB"},
			member(t, "wrong", ring.p256, "alg", "ES384", "use", "sig"),
		)
		fail := errors.New("no")
		answers := []string{set, set}
		j, err := New("guard@file", dynamic.JWT{JwksURL: "https://issuer.example/keys?token=hidden"}, Options{Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		j.keys.(*remote).get = func(context.Context) ([]byte, error) {
			if len(answers) == 0 {
				return nil, fail
			}
			text := answers[0]
			answers = answers[1:]
			return []byte(text), nil
		}
		token := sign(t, jose.RS256, ring.rsa, claimsWith(map[string]any{"exp": int64(1e12)}), map[string]any{"kid": "good"})
		expect(t, j, token, passes, "")
		expect(t, j, sign(t, jose.PS256, ring.rsa, claimsWith(nil), map[string]any{"kid": "good"}), http.StatusUnauthorized,
			"the algorithm of the token fits no key")
		expect(t, j, sign(t, jose.RS256, ring.weakRSA, claimsWith(nil), map[string]any{"kid": "weak"}),
			http.StatusUnauthorized, "unknown key")
		expect(t, j, sign(t, jose.RS256, ring.otherRSA, claimsWith(nil), map[string]any{"kid": "enc"}),
			http.StatusUnauthorized, "unknown key")
		expect(t, j, sign(t, jose.HS256, []byte(secret), claimsWith(nil), map[string]any{"kid": "oct"}),
			http.StatusUnauthorized, "the algorithm of the token is not taken")
		got := logger.take()
		if len(got) != 2 || !strings.HasPrefix(got[0], "warn keys of the set are not used") || strings.Contains(got[0],
			"hidden") {
			t.Errorf("logs %q", got)
		}
		for _, want := range []string{
			"key 1 is not used: it is RSA with 1024 bits", "key 5 is not used: it is symmetric",
			"key 6 is not used: it is private", "key 7 is not used: its algorithm is not taken",
		} {
			if !strings.Contains(got[0], want) {
				t.Errorf("%q is not in %s", want, got[0])
			}
		}
		pass(time.Hour)
		logged(t, logger) // The set is the same.
		pass(time.Hour)
		logged(t, logger, stillGood)
		expect(t, j, token, passes, "")
	})
}
