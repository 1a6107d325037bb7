package service_test

import (
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/router/service"
)

func TestHealthGoesUpThroughAllKinds(t *testing.T) {
	a, b := &named{name: "a"}, &named{name: "b"}
	carrier := service.NewMirrors()
	defer carrier.Close()
	m := service.NewMirroring(service.MirroringOptions{
		Main: a.child(0), To: []service.Mirror{{b, 100, 100}},
		State: service.NewState(), Carrier: carrier, Memory: replay.NewMemory(0),
	})
	f := service.NewFailover(service.FailoverOptions{Main: service.Child{Handler: m, Up: m.Up}, Fallback: b.child(0)})
	w := service.NewWeighted(service.WeightedOptions{Children: []service.Child{{
		Name: "f", Handler: f, Weight: 1,
		Up: f.Up,
	}, a.child(0)}, HealthCheck: true, State: service.NewState()})
	h := service.NewHighestRandomWeight(service.HighestRandomWeightOptions{Children: []service.Child{{
		Name:    "w",
		Handler: w, Weight: 1, Up: w.Up,
	}}, HealthCheck: true})
	for _, row := range []struct {
		a, b    bool
		up      []bool
		service string
	}{
		{true, true, []bool{true, true, true, true}, "a"},
		{false, true, []bool{false, true, true, true}, "b"},
		{true, false, []bool{true, true, true, true}, "a"},
		{false, false, []bool{false, false, false, false}, ""},
	} {
		a.down.Store(!row.a)
		b.down.Store(!row.b)
		if got := []bool{m.Up(), f.Up(), w.Up(), h.Up()}; !slices.Equal(got, row.up) {
			t.Errorf("a %v, b %v: up %v, want %v", row.a, row.b, got, row.up)
		}
		response, _ := ask(t, h)
		if got := response.Header.Get("X-Service"); got != row.service {
			t.Errorf("a %v, b %v: service %q, want %q", row.a, row.b, got, row.service)
		}
	}
	if !service.NewMirroring(service.MirroringOptions{}).Up() {
		t.Error("a child that cannot be down is down")
	}
}
