package router_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/router"
)

// world is what a compilation could start something in: a listener that is an endpoint and a Redis, and a file of
// users.
type world struct {
	address  string
	users    string
	accepted atomic.Int64
	first    chan struct{}
	prober   *health.Prober
	builder  *middleware.Builder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		address: listener.Addr().String(), users: filepath.Join(t.TempDir(), "users"), first: make(chan struct{}, 1),
		prober: health.NewProber(8), builder: middleware.NewBuilder(middleware.Options{}),
	}
	if err := os.WriteFile(w.users, []byte("test:$apr1$H6uskkkW$IgXLP6ewTrSuBkTrqE8wj/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			w.accepted.Add(1)
			_ = connection.Close()
			select {
			case w.first <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		w.prober.Close()
		w.builder.Close()
		_ = listener.Close()
		<-done
	})
	return w
}

// configuration names everything that needs a connection, a check or a watch once it serves.
func (w *world) configuration(number int) *dynamic.Configuration {
	balancer := &dynamic.ServersLoadBalancer{Servers: []dynamic.Server{{URL: "http://" + w.address}}}
	balancer.SetDefaults()
	check := &dynamic.ServerHealthCheck{}
	check.SetDefaults()
	check.Path, check.Interval = "/health/"+strconv.Itoa(number), ptypes.Duration(time.Second)
	balancer.HealthCheck = check
	limit := &dynamic.RateLimit{Redis: &dynamic.Redis{Endpoints: []string{w.address}, MinIdleConns: 2, DB: number % 16}}
	limit.SetDefaults()
	limit.Average = 10
	return &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.Router{"r@file": {
			Rule: "PathPrefix(`/" + strconv.Itoa(number) + "`)", Service: "s", Middlewares: []string{"users", "limit"},
		}}),
		Services: immutable.Of(map[string]*dynamic.Service{"s@file": {LoadBalancer: balancer}}),
		Middlewares: immutable.Of(map[string]*dynamic.Middleware{
			"users@file": {BasicAuth: &dynamic.BasicAuth{UsersFile: w.users}},
			"limit@file": {RateLimit: limit},
		}),
	}}
}

// objects are those of configuration.
func objects() []dynamic.Ref {
	return []dynamic.Ref{
		{Kind: dynamic.KindRouter, Name: "r@file"},
		{Kind: dynamic.KindService, Name: "s@file"},
		{Kind: dynamic.KindMiddleware, Name: "users@file"},
		{Kind: dynamic.KindMiddleware, Name: "limit@file"},
	}
}

func (w *world) compiler() *router.Compiler {
	entrypoints := []router.EntryPoint{{Name: "web", Default: true, Policy: canonical.DefaultPolicy()}}
	return router.NewCompiler(router.Options{
		EntryPoints: entrypoints,
		Registry:    loadbalancer.NewRegistry(loadbalancer.Options{Prober: w.prober}),
		Middlewares: w.builder,
	}, router.NewActiveTable(entrypoints))
}

// TestCompileStartsNothing drops tables that health checks, limits in Redis and files of users belong to, and then puts
// one to work, which shows that a table starts them once it serves.
func TestCompileStartsNothing(t *testing.T) {
	w := newWorld(t)
	running := goleak.IgnoreCurrent()
	for range 3 {
		compiler := w.compiler()
		for number := range 20 {
			compiled := compiler.Compile(router.Input{Configuration: w.configuration(number), Changed: objects(), Final: true})
			if len(compiled.Verdicts) > 0 {
				t.Fatalf("verdicts %v", compiled.Verdicts)
			}
			for found := range compiler.Middlewares() {
				t.Errorf("%s is shown, and does not serve", found.Name)
			}
		}
	}
	if err := goleak.Find(running); err != nil {
		t.Error(err)
	}
	if accepted := w.accepted.Load(); accepted > 0 {
		t.Errorf("%d connections were made for tables that never served", accepted)
	}
	compiler := w.compiler()
	compiler.Compile(router.Input{Configuration: w.configuration(0), Changed: objects(), Final: true})
	compiler.Compile(router.Input{Configuration: w.configuration(1), Changed: objects(), Final: true}).Activate(1)
	<-w.first
	shown := 0
	for range compiler.Middlewares() {
		shown++
	}
	if shown != 2 {
		t.Errorf("%d middlewares are shown, want 2", shown)
	}
}

// TestFilesAreWatchedOnceTheirTableServes changes a file of users that two compilations have read.
func TestFilesAreWatchedOnceTheirTableServes(t *testing.T) {
	w := newWorld(t)
	compiler := w.compiler()
	compiled := compiler.Compile(router.Input{Configuration: w.configuration(0), Changed: objects(), Final: true})
	changed := func(text string) bool {
		told := false
		synctest.Test(t, func(t *testing.T) {
			go w.builder.Files().Run(t.Context())
			if err := os.WriteFile(w.users, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			looked := time.NewTimer(time.Minute)
			defer looked.Stop()
			<-looked.C
			told = len(w.builder.Files().Stale()) > 0
		})
		return told
	}
	if changed("one:$apr1$H6uskkkW$IgXLP6ewTrSuBkTrqE8wj/\n") {
		t.Error("a file is watched for a table that does not serve")
	}
	compiled.Activate(1)
	if !changed("one more:$apr1$H6uskkkW$IgXLP6ewTrSuBkTrqE8wj/\n") {
		t.Error("a file is not watched for the table that serves")
	}
}

// TestCheckJudgesAConfiguration compares with what a compiler says of the same objects.
func TestCheckJudgesAConfiguration(t *testing.T) {
	w := newWorld(t)
	running := goleak.IgnoreCurrent()
	options := router.Options{
		EntryPoints: []router.EntryPoint{{Name: "web", Default: true, Policy: canonical.DefaultPolicy()}},
		Internal:    map[string]http.Handler{"ping@internal": http.NotFoundHandler()},
	}
	configuration := w.configuration(0)
	configuration.HTTP.Routers = configuration.HTTP.Routers.With("ping@file", &dynamic.Router{
		Rule: "Path(`/ping`)", Service: "ping@internal",
	})
	if verdicts := router.Check(options, configuration); len(verdicts) > 0 {
		t.Errorf("verdicts on a good configuration: %v", verdicts)
	}
	configuration.HTTP.Routers = configuration.HTTP.Routers.With("rule@file", &dynamic.Router{
		Rule: "Hots(`x.test`)", Service: "s",
	})
	configuration.HTTP.Routers = configuration.HTTP.Routers.With("service@file", &dynamic.Router{
		Rule: "Host(`x.test`)", Service: "absent",
	})
	configuration.HTTP.Middlewares = configuration.HTTP.Middlewares.With("users@file", &dynamic.Middleware{
		BasicAuth: &dynamic.BasicAuth{UsersFile: w.users + ".absent"},
	})
	configuration.HTTP.Routers = configuration.HTTP.Routers.With("entrypoint@file", &dynamic.Router{
		Rule: "Host(`e.test`)", Service: "ping@internal", EntryPoints: []string{"absent"},
	})
	configuration.HTTP.Middlewares = configuration.HTTP.Middlewares.With("loop@file", &dynamic.Middleware{
		Chain: &dynamic.Chain{Middlewares: []string{"loop"}},
	})
	configuration.HTTP.Middlewares = configuration.HTTP.Middlewares.With("plugin@file", &dynamic.Middleware{
		Plugin: map[string]map[string]any{"x": nil},
	})
	configuration.TLS = &dynamic.TLSConfiguration{
		Options: immutable.Of(map[string]*dynamic.TLSOptions{"old@file": {MinVersion: "VersionSSL30"}}),
	}
	var found []string
	for _, verdict := range router.Check(options, configuration) {
		if verdict.Status != dynamic.Quarantined || verdict.Reason == "" {
			t.Errorf("verdict %+v", verdict)
		}
		found = append(found, verdict.Ref.Name+" "+string(verdict.ReasonCode()))
	}
	want := []string{
		"loop@file ReferenceLoop", "plugin@file UnsupportedOption", "users@file InvalidOption",
		"entrypoint@file MissingEntryPoint",
		"r@file InvalidReference", "rule@file InvalidRule", "service@file MissingService", "old@file InvalidOption",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	if verdicts := router.Check(options, &dynamic.Configuration{}); len(verdicts) > 0 {
		t.Errorf("verdicts on nothing: %v", verdicts)
	}
	if err := goleak.Find(running); err != nil {
		t.Error(err)
	}
	if accepted := w.accepted.Load(); accepted > 0 {
		t.Errorf("%d connections were made", accepted)
	}
}
