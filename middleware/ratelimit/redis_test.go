package ratelimit

import (
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis/redistest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestOneLimitInRedis has two limiters, as two processes have them, hold one limit over all owners, and each its own
// while Redis is gone.
func TestOneLimitInRedis(t *testing.T) {
	server := redistest.Start(t)
	config := dynamic.RateLimit{
		Average: 1, Period: ptypes.Duration(time.Hour), Burst: 5,
		SourceCriterion: &dynamic.SourceCriterion{RequestHeaderName: "X-Key"},
		Redis:           &dynamic.Redis{Endpoints: []string{server.Address}},
	}
	var limiters [2]*RateLimit
	for i := range limiters {
		clients := redis.NewClients(telemetry.Discard{})
		clients.AnswerTimeout = time.Minute // A busy machine takes its time.
		defer clients.Close()
		m, err := New("m@file", config, Options{Clients: clients})
		if err != nil {
			t.Fatal(err)
		}
		m.Start()
		defer m.Close()
		limiters[i] = m
	}
	a, b := limiters[0].For("router a@file").Wrap(next()), limiters[1].For("router b@file").Wrap(next())
	for _, key := range []string{"X-Key: one", "X-Key: two", "X-Other: none"} {
		if got := send(t, a, 3, key) + send(t, b, 9, key); got != 5 {
			t.Errorf("%q: %d requests passed, want 5", key, got)
		}
	}
	if a, b := limiters[0].Counts(), limiters[1].Counts(); a["refused"]+b["refused"] != 21 || a["local"]+b["local"] != 0 {
		t.Errorf("counts %v and %v", a, b)
	}

	server.Kill()
	for i, handler := range []func() int{
		func() int { return send(t, a, 9, "X-Key: three") },
		func() int { return send(t, b, 9, "X-Key: three") },
	} {
		if got := handler(); got != 5 || limiters[i].Counts()["local"] != 9 {
			t.Errorf("without redis %d requests passed, want 5; counts %v", got, limiters[i].Counts())
		}
	}
}
