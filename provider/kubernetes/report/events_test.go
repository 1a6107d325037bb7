package report

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/telemetry"
)

// eventLines lists Events as kubectl describe shows them.
func eventLines(events []corev1.Event) []string {
	var lines []string
	for _, event := range events {
		lines = append(lines, fmt.Sprintf("%s %s %s x%d: %s", event.InvolvedObject.Name, event.Type, event.Reason,
			event.Count, event.Message))
	}
	return lines
}

func TestVerdictsOfOneObjectMakeOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		r.run()
		web := route("traefik.io", "web")
		r.Publish([]dynamic.Verdict{
			verdict(web, "a", dynamic.Degraded, `entrypoint "x" does not exist`),
			verdict(web, "b", dynamic.Quarantined, `service "b@kubernetescrd": Service shop/web does not exist`),
			{Ref: dynamic.Ref{Kind: dynamic.KindRouter, Name: "r@file"}, Status: dynamic.Quarantined, Reason: "of a file"},
		})
		r.Publish([]dynamic.Verdict{
			verdict(web, "c", dynamic.Quarantined, "Service shop/web does not exist"),
		})
		pass(time.Second)
		events := server.events()
		want := []string{`web Warning MissingService x1: quarantined: Service shop/web does not exist; entrypoint "x" ` +
			`does not exist`}
		if diff := cmp.Diff(want, eventLines(events)); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
		about := corev1.ObjectReference{
			APIVersion: "traefik.io/v1alpha1", Kind: "IngressRoute", Namespace: "shop",
			Name: "web", UID: "uid-web",
		}
		if diff := cmp.Diff(about, events[0].InvolvedObject); diff != "" || events[0].Namespace != "shop" {
			t.Errorf("in namespace %s about (-want +got):\n%s", events[0].Namespace, diff)
		}
	})
}

func TestRepetitionsAreCountedAndRecoveryIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		web := route("traefik.io", "web")
		r.show(provider.State{Included: map[string]*dynamic.Configuration{"kubernetescrd": declaring(web)}, Settled: true})
		r.run()
		for range 2 {
			r.Publish([]dynamic.Verdict{verdict(web, "a", dynamic.Quarantined, "bad rule")})
			pass(time.Second)
			r.Publish([]dynamic.Verdict{verdict(web, "a", dynamic.Accepted, "")})
			pass(time.Second)
		}
		want := []string{
			"web Normal Accepted x2: everything that it declares is in use", "web Warning InvalidRule x2: quarantined: bad rule",
		}
		events := server.events()
		if diff := cmp.Diff(want, eventLines(events)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if !events[1].LastTimestamp.After(events[1].FirstTimestamp.Time) {
			t.Error("a repetition does not move the time when it was last seen")
		}
	})
}

func TestPersistentFaultsAreRepeatedBeforeEventsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		r.run()
		r.Publish([]dynamic.Verdict{verdict(route("traefik.io", "web"), "a", dynamic.Quarantined, "bad rule")})
		pass(61 * time.Minute)
		if diff := cmp.Diff([]string{"web Warning InvalidRule x3: quarantined: bad rule"},
			eventLines(server.events())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// A service that xDS clients do not get works for everyone else: its owner has nothing to repair.
func TestServicesThatAreNotPublishedGetNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		r.run()
		unpublished := verdict(route("traefik.io", "web"), "a", dynamic.Degraded, "it is not published over xDS")
		unpublished.Code = dynamic.CodeNotPublished
		r.Publish([]dynamic.Verdict{unpublished})
		pass(time.Minute)
		if events := eventLines(server.events()); len(events) > 0 {
			t.Errorf("%q, want no events", events)
		}
		r.Publish([]dynamic.Verdict{
			unpublished, verdict(route("traefik.io", "web"), "a", dynamic.Quarantined, "bad rule"),
		})
		pass(time.Minute)
		want := []string{"web Warning InvalidRule x1: quarantined: bad rule"}
		if diff := cmp.Diff(want, eventLines(server.events())); diff != "" {
			t.Errorf("another finding on the same object: events (-want +got):\n%s", diff)
		}
	})
}

func TestObjectsThatAreDeletedOrMendedInTimeGetNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		r.run()
		pass(time.Second)
		gone, mended := route("traefik.io", "gone"), route("traefik.io", "mended")
		r.Publish([]dynamic.Verdict{verdict(gone, "a", dynamic.Quarantined, "bad rule")})
		pass(time.Second)
		r.Publish([]dynamic.Verdict{verdict(gone, "a", dynamic.Accepted, ""), verdict(mended, "b", dynamic.Quarantined,
			"bad rule")})
		r.show(provider.State{Included: map[string]*dynamic.Configuration{"kubernetescrd": declaring(mended)}, Settled: true})
		r.Publish([]dynamic.Verdict{verdict(mended, "b", dynamic.Accepted, "")})
		pass(time.Minute)
		if diff := cmp.Diff([]string{"gone Warning InvalidRule x1: quarantined: bad rule"},
			eventLines(server.events())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestEventsAreWrittenAtABoundedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		r.run()
		pass(time.Second)
		var verdicts []dynamic.Verdict
		for i := range maxQueue + 50 {
			name := fmt.Sprintf("r%04d", i)
			verdicts = append(verdicts, verdict(route("traefik.io", name), name, dynamic.Quarantined, "bad rule"))
		}
		r.Publish(verdicts)
		pass(gather)
		if written := len(server.events()); written != eventBurst {
			t.Errorf("%d Events at once, want %d", written, eventBurst)
		}
		pass(10 * time.Second)
		if written := len(server.events()); written != eventBurst+100 {
			t.Errorf("%d Events after 10 s, want %d", written, eventBurst+100)
		}
		pass(5 * time.Minute)
		if written := len(server.events()); written != maxQueue || r.drops() != 50 {
			t.Errorf("%d Events and %d dropped, want %d and 50", written, r.drops(), maxQueue)
		}
		pass(30 * time.Minute)
		if written := len(server.events()); written != maxQueue+50 {
			t.Errorf("%d Events after the repetition, want all %d", written, maxQueue+50)
		}
		for _, event := range server.events() {
			if event.Message != "quarantined: bad rule" {
				t.Errorf("%s: %s", event.InvolvedObject.Name, event.Message)
			}
		}
	})
}

func TestAnObjectThatFlapsDoesNotFloodAndItsNewestStateWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		r.run()
		web := route("traefik.io", "web")
		for i := range 100 {
			r.Publish([]dynamic.Verdict{verdict(web, "a", dynamic.Quarantined, fmt.Sprintf("fault %d", i))})
			pass(200 * time.Millisecond)
		}
		if written := len(server.events()); written != objectBurst {
			t.Errorf("%d Events about one object in 20 s, want %d", written, objectBurst)
		}
		pass(objectInterval)
		events := server.events()
		var newest bool
		for _, event := range events {
			newest = newest || event.Message == "quarantined: fault 99"
		}
		if len(events) != objectBurst+1 || !newest {
			t.Errorf("events: %v, want one more with the newest fault", eventLines(events))
		}
		// The limit of one object is not that of another.
		r.Publish([]dynamic.Verdict{verdict(web, "a", dynamic.Quarantined, "fault 100")})
		r.Publish([]dynamic.Verdict{verdict(route("traefik.io", "calm"), "b", dynamic.Quarantined, "bad rule")})
		pass(time.Second)
		if first := server.events()[0]; first.InvolvedObject.Name != "calm" {
			t.Errorf("the first Event is about %s, want calm", first.InvolvedObject.Name)
		}
	})
}

func TestEventsThatMayNotBeWrittenAreSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		server.refuse("POST events", true)
		r := newRig(t, server, "one", nil)
		r.run()
		for i := range 20 {
			name := fmt.Sprintf("r%02d", i)
			r.Publish([]dynamic.Verdict{verdict(route("traefik.io", name), name, dynamic.Quarantined, "bad rule")})
			pass(10 * time.Second)
		}
		if n := r.log.count("may not create events"); n != 1 {
			t.Errorf("said %d times, want once: %v", n, r.log.lines)
		}
		if tries := server.seen("POST /api/v1/namespaces/shop/events"); tries > 8 {
			t.Errorf("%d attempts in 200 s", tries)
		}
		server.refuse("POST events", false)
		pass(time.Minute)
		if written := len(server.events()); written != 20 || r.log.count("works again") != 1 {
			t.Errorf("%d Events once it is granted, want 20; log: %v", written, r.log.lines)
		}
	})
}

func TestVerdictsOfOtherClustersAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", func(o *Options) { o.Providers = []string{"kubernetes"} })
		r.run()
		r.Publish([]dynamic.Verdict{verdict(route("traefik.io", "web"), "a", dynamic.Quarantined, "bad rule")})
		pass(time.Second)
		if events := server.events(); len(events) != 0 {
			t.Errorf("events: %v, want none", eventLines(events))
		}
	})
}

// With the client that Sluice uses, Events go over a socket as protobuf.
func TestEventsReachAServerThroughTheClusterConnection(t *testing.T) {
	server := newAPIServer(t)
	listening := httptest.NewServer(server)
	defer listening.Close()
	cluster, err := client.Connect(client.Options{Endpoint: listening.URL}, "kubernetes", telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	writer := &eventWriter{clients: cluster, permissions: newPermissionErrors(telemetry.Discard{}), identity: "one"}
	for range 2 {
		if err := writer.write(t.Context(), event{
			resource: *route("traefik.io", "web"), code: dynamic.CodeIneffectiveOption,
			message: "no effect",
		}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"web Warning IneffectiveOption x2: no effect"}, eventLines(server.events())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cluster.Run(ended); err != nil { // It closes idle connections.
		t.Fatal(err)
	}
}
