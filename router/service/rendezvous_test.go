package service_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
)

func from(t *testing.T, handler http.Handler, client string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/", http.NoBody)
	r.RemoteAddr = client + ":4711"
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r)
	return recorder.Header().Get("X-Service")
}

// All instances of all versions must come to the same result, or clients move at each update.
func TestHighestRandomWeightNeverChangesItsMind(t *testing.T) {
	var children []service.Child
	for i, name := range []string{"one", "two@docker", "three", "none"} {
		children = append(children, (&named{name: name}).child([]int{1, 3, 2, 0}[i]))
	}
	h := service.NewHighestRandomWeight(service.HighestRandomWeightOptions{Name: "h@file", Children: children})
	want := map[string]string{
		"192.0.2.1": "two@docker", "192.0.2.2": "three", "192.0.2.3": "one", "198.51.100.77": "two@docker",
		"[2001:db8::1]": "two@docker", "[2001:db8::2]": "two@docker",
	}
	got := map[string]string{}
	for client := range want {
		got[client] = from(t, h, client)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHighestRandomWeightSharesClientsAndMovesFew(t *testing.T) {
	const clients = 20000
	services := []*named{{name: "app-v1"}, {name: "app-v2"}, {name: "app-v3"}}
	children := []service.Child{services[0].child(1), services[1].child(1), services[2].child(2)}
	h := service.NewHighestRandomWeight(service.HighestRandomWeightOptions{
		Name: "h@file", Children: children,
		HealthCheck: true,
	})
	ctx, w := telemetry.WithRecord(t.Context(), new(telemetry.Record)), &silent{header: http.Header{}}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	choose := func(client string) int {
		telemetry.RecordFrom(ctx).Client = client
		h.ServeHTTP(w, r)
		return slices.IndexFunc(services, func(n *named) bool { return n.name == w.header.Get("X-Service") })
	}
	before, count := map[string]int{}, make([]float64, len(children))
	for i := range clients {
		client := fmt.Sprintf("10.%d.%d.7", i>>8, i&255)
		before[client] = choose(client)
		count[before[client]]++
	}
	for i, want := range []float64{.25, .25, .5} {
		if got := count[i] / clients; math.Abs(got-want) > .01 {
			t.Errorf("service %s has %.3f of the clients, want %.2f", services[i].name, got, want)
		}
	}
	services[0].down.Store(true)
	for client, was := range before {
		if now := choose(client); now == 0 || was != 0 && now != was {
			t.Fatalf("client %s went from %d to %d when 0 went down", client, was, now)
		}
	}
}

func TestHighestRandomWeightTakesTheClientOfTheRecord(t *testing.T) {
	h := service.NewHighestRandomWeight(service.HighestRandomWeightOptions{
		Children: []service.Child{(&named{name: "a"}).child(1), (&named{name: "b"}).child(1)},
	})
	for i := range 50 {
		client := fmt.Sprintf("198.51.100.%d", i)
		record := &telemetry.Record{Client: client}
		r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "/", http.NoBody)
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, r)
		if got, want := recorder.Header().Get("X-Service"), from(t, h, client); got != want {
			t.Errorf("client %s: service %q by the record, %q by its address", client, got, want)
		}
	}
}

func TestHighestRandomWeightSaysThatNoChildAnswers(t *testing.T) {
	a := &named{name: "a"}
	h := service.NewHighestRandomWeight(service.HighestRandomWeightOptions{
		Name:     "h@file",
		Children: []service.Child{a.child(1)}, HealthCheck: true,
	})
	if !h.Up() {
		t.Error("it is down")
	}
	a.down.Store(true)
	response, record := ask(t, h)
	if h.Up() || response.StatusCode != http.StatusServiceUnavailable || record.Service != "h@file" ||
		record.Reason == "" {
		t.Errorf("up %v, %d, %+v: want down, 503 and a reason", h.Up(), response.StatusCode, record)
	}
}
