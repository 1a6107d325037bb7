package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) {
	client.LogThrough(telemetry.Discard{})
	goleak.VerifyTestMain(m)
}

// lines keeps what is logged from level info on.
type lines struct {
	telemetry.Discard
	mu      sync.Mutex
	written []string
}

func (l *lines) Info(message string, keysAndValues ...any) { l.write("INFO", message, keysAndValues) }

func (l *lines) Warn(message string, keysAndValues ...any) { l.write("WARN", message, keysAndValues) }

func (l *lines) write(level, message string, keysAndValues []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = append(l.written, fmt.Sprint(level, " ", message, " ", keysAndValues))
}

func (l *lines) with(part string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.written), func(line string) bool { return !strings.Contains(line, part) })
}

// widgets is a resource that is defined while a cluster runs; its objects are stored as ConfigMaps.
var (
	widgetVersion  = schema.GroupVersion{Group: "example.com", Version: "v1"}
	widgetResource = widgetVersion.WithResource("widgets")
	services       = corev1.SchemeGroupVersion.WithResource("services")
	secrets        = corev1.SchemeGroupVersion.WithResource("secrets")
)

func widgets() client.Resource[*corev1.ConfigMap] {
	return client.Resource[*corev1.ConfigMap]{
		GroupVersion: widgetVersion, Name: "widgets", Kind: "Widget", Namespaced: true,
		NewList: func() runtime.Object { return &corev1.ConfigMapList{} },
	}
}

func addWidgets(types *runtime.Scheme) error {
	types.AddKnownTypeWithName(widgetVersion.WithKind("Widget"), &corev1.ConfigMap{})
	types.AddKnownTypeWithName(widgetVersion.WithKind("WidgetList"), &corev1.ConfigMapList{})
	metav1.AddToGroupVersion(types, widgetVersion)
	return nil
}

func connect(t *testing.T, server *clienttest.Server, logger telemetry.Logger) *client.Cluster {
	t.Helper()
	cluster, err := client.Connect(client.Options{Endpoint: server.URL()}, "kubernetes", logger, addWidgets)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// run runs the cluster's watches until the test ends, or the returned function is called.
func run(t *testing.T, cluster *client.Cluster) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cluster.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// events is a channel of a watch's notifications.
func events[T client.Object](watched *client.Watched[T]) <-chan string {
	told := make(chan string, 100)
	var none T
	watched.Notify(func(before, after T) {
		switch {
		case any(before) == any(none):
			told <- "+" + after.GetNamespace() + "/" + after.GetName()
		case any(after) == any(none):
			told <- "-" + before.GetNamespace() + "/" + before.GetName()
		default:
			told <- "~" + after.GetNamespace() + "/" + after.GetName()
		}
	})
	return told
}

// expect waits for these events, in any order, and for no more than these.
func expect(t *testing.T, told <-chan string, want ...string) {
	t.Helper()
	var got []string
	timeout := time.NewTimer(2 * time.Minute)
	defer timeout.Stop()
	for len(got) < len(want) {
		select {
		case one := <-told:
			got = append(got, one)
		case <-timeout.C:
			t.Fatalf("got %v within 2 min, want %v", got, want)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	select {
	case one := <-told:
		t.Fatalf("%s is one event too many", one)
	default:
	}
}

// status is implemented by a watch of any type.
type status interface{ Status() client.Status }

// await waits until a watch is in a state.
func await(t *testing.T, cluster *client.Cluster, watched status, want dynamic.ProviderState) client.Status {
	t.Helper()
	changed := make(chan struct{}, 1)
	cluster.OnStatus(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	timeout := time.NewTimer(2 * time.Minute)
	defer timeout.Stop()
	for {
		now := watched.Status()
		if now.State == want {
			return now
		}
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("status is %s (%s) after 2 min, want %s", now.State, now.Reason, want)
		}
	}
}

func service(namespace, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func widget(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestWatchFollowsTheCluster(t *testing.T) {
	for _, listOnly := range []bool{false, true} {
		t.Run(fmt.Sprintf("list only %v", listOnly), func(t *testing.T) {
			t.Parallel()
			server := clienttest.New(t)
			if listOnly {
				server.ListOnly()
			}
			server.Put(services, service("shop", "web"), service("shop", "api"))
			cluster := connect(t, server, telemetry.Discard{})
			watched := client.Watch(cluster, client.Services(), client.Scope{})
			if again := client.Watch(cluster, client.Services(), client.Scope{}); again != watched {
				t.Error("the same resource in the same scope is watched twice")
			}
			told := events(watched)
			if now := watched.Status(); now.State != dynamic.StatePending {
				t.Errorf("before Run the status is %s, want pending", now.State)
			}
			run(t, cluster)
			await(t, cluster, watched, dynamic.StateSynced)
			expect(t, told, "+shop/web", "+shop/api")
			server.Put(services, service("shop", "web"))
			expect(t, told, "~shop/web")
			server.Delete(services, "shop", "api")
			expect(t, told, "-shop/api")
			if _, ok := watched.Get("shop", "api"); ok || watched.Len() != 1 {
				t.Error("a deleted object is still there")
			}
			late := events(watched)
			expect(t, late, "+shop/web")
		})
	}
}

func TestAPIArrivesAndGoes(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	cluster := connect(t, server, telemetry.Discard{})
	watched := client.Watch(cluster, widgets(), client.Scope{})
	told := events(watched)
	run(t, cluster)
	if now := await(t, cluster, watched, dynamic.StateAbsent); !strings.Contains(now.Reason, "widgets.example.com") {
		t.Errorf("reason %q does not name the resource", now.Reason)
	}
	server.Serve(widgetResource, "Widget")
	server.Put(widgetResource, widget("shop", "one"))
	await(t, cluster, watched, dynamic.StateSynced)
	expect(t, told, "+shop/one")
	server.Remove(widgetResource)
	expect(t, told, "-shop/one")
	await(t, cluster, watched, dynamic.StateAbsent)
	server.Serve(widgetResource, "Widget")
	server.Put(widgetResource, widget("shop", "two"))
	expect(t, told, "+shop/two")
}

func TestRightsAreMissingAndGranted(t *testing.T) {
	tests := []struct {
		name     string
		verbs    []string
		listOnly bool
		reason   string
	}{
		{"list and watch", []string{"list", "watch"}, false, "may not list and watch secrets"},
		{"watch alone", []string{"watch"}, false, "may not watch secrets"},
		{"list alone, of an old server", []string{"list"}, true, "may not list secrets"},
		{"watch alone, of an old server", []string{"watch"}, true, "may not watch secrets"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, log := clienttest.New(t), &lines{}
			for _, verb := range test.verbs {
				server.Refuse(verb, "secrets")
			}
			if test.listOnly {
				server.ListOnly()
			}
			server.Put(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tls"}})
			server.Put(services, service("shop", "web"))
			cluster := connect(t, server, log)
			forbidden := client.Watch(cluster, client.Secrets(), client.Scope{})
			allowed := client.Watch(cluster, client.Services(), client.Scope{})
			run(t, cluster)
			if now := await(t, cluster, forbidden, dynamic.StateForbidden); now.Reason != test.reason {
				t.Errorf("reason %q, want %q", now.Reason, test.reason)
			}
			await(t, cluster, allowed, dynamic.StateSynced)
			for _, verb := range test.verbs {
				server.Grant(verb, "secrets")
			}
			await(t, cluster, forbidden, dynamic.StateSynced)
			if _, ok := forbidden.Get("shop", "tls"); !ok {
				t.Error("the secret is not there once it may be read")
			}
			if got := log.with("secrets"); len(got) != 2 || !strings.HasPrefix(got[0], "WARN") || !strings.HasPrefix(got[1],
				"INFO") {
				t.Errorf("log:\n%s\nwant one warning and one line when it is granted", strings.Join(got, "\n"))
			}
		})
	}
}

func TestNamespacesAreWatchedOneByOne(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Put(services, service("a", "web"), service("b", "web"), service("c", "web"))
	server.Refuse("list", "b/services")
	server.Refuse("watch", "b/services")
	cluster := connect(t, server, telemetry.Discard{})
	watched := client.Watch(cluster, client.Services(), client.Scope{Namespaces: []string{"b", "a", "a"}})
	told := events(watched)
	run(t, cluster)
	if now := await(t, cluster, watched,
		dynamic.StateForbidden); now.Reason != "may not list and watch services in namespace b" {
		t.Errorf("reason %q", now.Reason)
	}
	expect(t, told, "+a/web")
	server.Grant("list", "b/services")
	server.Grant("watch", "b/services")
	expect(t, told, "+b/web")
	for _, request := range server.Requests() {
		if strings.Contains(request, "/services") && !strings.Contains(request, "/namespaces/") {
			t.Errorf("%s requests more than the namespaces", request)
		}
	}
}

func TestAPIServerGoesAndComesBack(t *testing.T) {
	t.Parallel()
	server, log := clienttest.New(t), &lines{}
	server.Put(services, service("shop", "web"), service("shop", "api"))
	server.Put(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tls"}})
	cluster := connect(t, server, log)
	watched := client.Watch(cluster, client.Services(), client.Scope{})
	other := client.Watch(cluster, client.Secrets(), client.Scope{})
	told := events(watched)
	run(t, cluster)
	await(t, cluster, other, dynamic.StateSynced)
	expect(t, told, "+shop/web", "+shop/api")

	server.Stop()
	awaitLine(t, log, "does not answer")
	if watched.Len() != 2 || watched.Status().State != dynamic.StateSynced {
		t.Errorf("without an API server there are %d objects and the status is %v, want what was known", watched.Len(),
			watched.Status())
	}
	server.Put(services, service("shop", "new"))
	server.Delete(services, "shop", "api")
	server.Expire() // The watch cannot be resumed: everything is read again.
	server.Start()
	expect(t, told, "+shop/new", "-shop/api")
	awaitLine(t, log, "answers again")
	log.mu.Lock()
	defer log.mu.Unlock()
	if len(log.written) != 2 {
		t.Errorf("log:\n%s\nwant one line when it goes and one when it is back", strings.Join(log.written, "\n"))
	}
}

// awaitLine waits for a line of the log.
func awaitLine(t *testing.T, log *lines, part string) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 2000 {
		if len(log.with(part)) > 0 {
			return
		}
		<-ticker.C
	}
	t.Fatalf("no line %q within 2 min; log: %v", part, log.written)
}

func TestStartsWhileTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Put(services, service("shop", "web"))
	server.Stop()
	cluster := connect(t, server, telemetry.Discard{})
	watched := client.Watch(cluster, client.Services(), client.Scope{})
	changed := make(chan struct{}, 1)
	cluster.OnStatus(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	run(t, cluster)
	<-changed
	if now := watched.Status(); now.State != dynamic.StatePending || !strings.Contains(now.Reason, "refused") {
		t.Errorf("status %v, want pending with the reason", now)
	}
	server.Start()
	await(t, cluster, watched, dynamic.StateSynced)
}

func TestRunGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Put(services, service("shop", "web"))
	cluster := connect(t, server, telemetry.Discard{})
	watched := client.Watch(cluster, client.Services(), client.Scope{})
	told := events(watched)
	stop := run(t, cluster)
	expect(t, told, "+shop/web")
	if err := cluster.Run(t.Context()); err == nil {
		t.Error("Run runs twice at the same time")
	}
	stop()
	server.Put(services, service("shop", "api"))
	run(t, cluster)
	expect(t, told, "+shop/api")
}

func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{"literal": "first", "file": file} {
		server := clienttest.New(t)
		server.RequireToken("first")
		cluster, err := client.Connect(client.Options{Endpoint: server.URL(), Token: token}, "kubernetes",
			telemetry.Discard{})
		if err != nil {
			t.Fatal(err)
		}
		watched := client.Watch(cluster, client.Services(), client.Scope{})
		stop := run(t, cluster)
		await(t, cluster, watched, dynamic.StateSynced)
		if name == "file" {
			if err := os.WriteFile(file, []byte("second\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			server.RequireToken("second")
			other := client.Watch(cluster, client.Nodes(), client.Scope{})
			await(t, cluster, other, dynamic.StateSynced)
		}
		stop()
	}
}

func TestCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.RequireToken("right")
	cluster, err := client.Connect(client.Options{Endpoint: server.URL(), Token: "wrong"}, "kubernetes",
		telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	watched := client.Watch(cluster, client.Services(), client.Scope{})
	run(t, cluster)
	now := await(t, cluster, watched, dynamic.StateForbidden)
	if !strings.Contains(now.Reason, "credentials") || strings.Contains(now.Reason, "wrong") {
		t.Errorf("reason %q, want one that names the credentials and does not show them", now.Reason)
	}
}

// TestAbsentIsNotForbidden demands that an API that does not exist is not taken for one that may not be read: without
// the right to read it, both answer the same.
func TestAbsentIsNotForbidden(t *testing.T) {
	t.Parallel()
	server, log := clienttest.New(t), &lines{}
	server.Refuse("list", "widgets")
	server.Refuse("watch", "widgets")
	cluster := connect(t, server, log)
	watched := client.Watch(cluster, widgets(), client.Scope{})
	run(t, cluster)
	await(t, cluster, watched, dynamic.StateAbsent)
	if got := log.with(""); len(got) != 0 {
		t.Errorf("log %v, want nothing about an API that does not exist", got)
	}
	server.Serve(widgetResource, "Widget")
	if now := await(t, cluster, watched,
		dynamic.StateForbidden); now.Reason != "may not list and watch widgets.example.com" {
		t.Errorf("reason %q", now.Reason)
	}
}
