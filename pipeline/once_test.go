package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/telemetry"
)

// result is what Once returned.
type result struct {
	state *pipeline.State
	err   error
}

func (r *rig) once(ctx context.Context, timeout time.Duration) <-chan result {
	done := make(chan result, 1)
	go func() {
		state, err := r.Once(ctx, timeout)
		done <- result{state, err}
	}()
	synctest.Wait()
	return done
}

func TestOnceWaitsForEveryProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file", "docker", "cluster")
		done := r.once(t.Context(), 10*time.Second)
		r.send("file", broken("r"))
		r.providers["cluster"] <- dynamic.Message{State: dynamic.StateSynced}
		pass(3 * time.Second)
		if len(r.seen().compiled) != 0 {
			t.Fatal("compiled before docker had spoken")
		}
		r.send("docker", needing("k"))
		pass(300 * ms)
		r.endpoints("cluster", "k")
		got := <-done
		if got.err != nil || time.Since(r.begin) != 3300*ms {
			t.Fatalf("Once = %v after %s", got.err, time.Since(r.begin))
		}
		if diff := cmp.Diff([]string{"router r@file: missing"}, lines(got.state.Verdicts)); diff != "" {
			t.Errorf("verdicts (-want +got):\n%s", diff)
		}
		if !got.state.Ready || got.state.Generation != 1 || got.state.Configuration.HTTP.Routers.Len() != 2 {
			t.Errorf("state = %+v", got.state)
		}
		if compiled := r.seen().compiled; len(compiled) != 1 || !compiled[0].final {
			t.Errorf("compiled %+v, want once and settled", compiled)
		}
	})
}

func TestOnceGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file", "docker")
		done := r.once(t.Context(), 2*time.Second)
		r.send("file", needing("never"))
		pass(2500 * ms)
		r.send("docker", routers("late", "Host(`late`)"))
		got := <-done
		if got.err != nil || time.Since(r.begin) != 3*time.Second {
			t.Fatalf("Once = %v after %s, want two seconds for docker and one for the set", got.err, time.Since(r.begin))
		}
		docker := got.state.Providers["docker"]
		if docker.State != dynamic.StateTimedOut || docker.Reason != "no first state within 2s" || got.state.Ready {
			t.Errorf("docker = %+v, ready = %t", docker, got.state.Ready)
		}
		if got.state.Configuration.HTTP.Routers.Len() != 1 {
			t.Error("what the others declared is lost")
		}
	})
}

// A provider that reports why it cannot read its source is not waited for until the end.
func TestOnceGivesUpOnAProviderWithAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file", "docker")
		done := r.once(t.Context(), time.Minute)
		r.send("file", routers("r", "Host(`a`)"))
		r.providers["docker"] <- dynamic.Message{Reason: "connection refused"}
		got := <-done
		if got.err != nil || time.Since(r.begin) != time.Second {
			t.Fatalf("Once = %v after %s", got.err, time.Since(r.begin))
		}
		docker := got.state.Providers["docker"]
		if docker.State != dynamic.StateTimedOut || docker.Reason != "no first state within 1s; connection refused" {
			t.Errorf("docker = %+v", docker)
		}
	})
}

func TestOnceEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := r.once(ctx, time.Minute)
		interrupted := errors.New("interrupted")
		cancel(interrupted)
		if got := <-done; !errors.Is(got.err, interrupted) {
			t.Errorf("Once = %v, want the cause", got.err)
		}
	})
}

func TestOnceFailsWithItsSource(t *testing.T) {
	hub := provider.NewHub([]provider.Entry{{Name: ""}}, telemetry.Discard{})
	p := pipeline.New(pipeline.Options{Source: hub, Logger: telemetry.Discard{}})
	if _, err := p.Once(t.Context(), time.Minute); err == nil {
		t.Error("Once did not fail")
	}
}

func TestStateBeforeTheFirstGeneration(t *testing.T) {
	state := newRig(t, "file").State()
	if state == nil || state.Ready || state.Generation != 0 {
		t.Errorf("state = %+v, want one that is not ready", state)
	}
}
