package service_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
)

// environments returns the options of an environment service with the default tag dev.
func environments(tags ...string) *dynamic.Environment {
	config := &dynamic.Environment{}
	config.SetDefaults()
	config.Default = "dev"
	for i, tag := range tags {
		config.Subsets = append(config.Subsets, dynamic.EnvironmentSubset{Tag: tag, Service: fmt.Sprint("s", i)})
	}
	return config
}

func selectorOf(t testing.TB, config *dynamic.Environment) *environment.Selector {
	t.Helper()
	selector, err := environment.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

// TestEnvironmentThroughTheProxy sends requests to real endpoints and demands what they and the record get: the subset,
// the header as the client sent it, and the header in place of an alias.
func TestEnvironmentThroughTheProxy(t *testing.T) {
	echo := func(name string) *dynamic.Service {
		return endpoint(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, "%s %q", name, r.Header["X-Virtual-Env"])
		})
	}
	config := environments("dev", "dev.a", "dev.a.b")
	config.Aliases = []dynamic.EnvironmentAlias{{Name: "Cookie", Pattern: "(?:.*; )?env=(@)(?:;.*)?"}}
	p := newProxy(t, map[string]*dynamic.Service{
		"top@file": {Environment: config}, "s0@file": echo("dev"), "s1@file": echo("dev.a"), "s2@file": echo("dev.a.b"),
	})
	for _, test := range []struct{ fields, want, record string }{
		{"", `dev []`, "dev default"},
		{"X-Virtual-Env: dev.a.b\r\n", `dev.a.b ["dev.a.b"]`, "dev.a.b exact"},
		{"x-virtual-env: dev.a.x.y\r\n", `dev.a ["dev.a.x.y"]`, "dev.a ancestor"},
		{"X-Virtual-Env: dev.a\r\nX-Virtual-Env: dev.a.b\r\n", `dev.a ["dev.a" "dev.a.b"]`, "dev.a exact"},
		{"X-Virtual-Env: other\r\n", `dev ["other"]`, "dev default"},
		{"Cookie: x=1; env=dev.a.b; y=2\r\n", `dev.a.b ["dev.a.b"]`, "dev.a.b exact"},
	} {
		conn, reader := p.dial()
		if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x.test\r\n%s\r\n", test.fields); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		body := new(strings.Builder)
		_ = response.Write(body)
		_ = conn.Close()
		record := <-p.records
		if got := record.Environment + " " + record.EnvironmentReason; !strings.HasSuffix(body.String(), test.want) ||
			got != test.record {
			t.Errorf("%q is answered %q and recorded as %q, want %s and %s", test.fields, body, got, test.want, test.record)
		}
	}
}

func TestEnvironmentWithoutASubset(t *testing.T) {
	config := environments("dev.a")
	a := &named{name: "a"}
	e := service.NewEnvironment(service.EnvironmentOptions{
		Name: "e@file", Selector: selectorOf(t, config), Subsets: []service.Child{a.child(0)},
	})
	response, record := ask(t, e, "X-Virtual-Env", "dev.b")
	if response.StatusCode != http.StatusServiceUnavailable || record.Code != telemetry.CodeNoEnvironment ||
		record.Service != "e@file" || record.EnvironmentReason != "none" {
		t.Errorf("%d, record %+v, want 503 with %s", response.StatusCode, record, telemetry.CodeNoEnvironment)
	}
	if a.count.Load() != 0 {
		t.Error("the subset of another environment got the request")
	}
}

// TestWhichSubsetsCount proves the two meanings of exists: by pods, a subset counts while its endpoint set is declared,
// whether or not it is up; by ready, only while it is up.
func TestWhichSubsetsCount(t *testing.T) {
	config := environments("dev", "dev.a")
	for _, test := range []struct {
		ready, up, present bool
		want               string
	}{
		{false, true, true, "a exact"},
		{false, false, true, "a exact"},
		{false, false, false, "dev ancestor"},
		{true, true, true, "a exact"},
		{true, false, true, "dev ancestor"},
	} {
		dev, a := &named{name: "dev"}, &named{name: "a"}
		a.down.Store(!test.up)
		var present atomic.Bool
		present.Store(test.present)
		child := a.child(0)
		child.Present = present.Load
		subsets := []service.Child{dev.child(0), child}
		e := service.NewEnvironment(service.EnvironmentOptions{
			Name: "e@file", Selector: selectorOf(t, config), Subsets: subsets, Ready: test.ready,
		})
		if _, record := ask(t, e, "X-Virtual-Env", "dev.a"); record.Environment+" "+record.EnvironmentReason != test.want {
			t.Errorf("%+v: %s %s", test, record.Environment, record.EnvironmentReason)
		}
		if !e.Up() {
			t.Error("the service is down while a subset is up")
		}
	}
}

// TestAllEndpointsAnswerWhileADivisionEnds: the endpoint sets of the subsets are deleted before the definition of the
// service follows.
func TestAllEndpointsAnswerWhileADivisionEnds(t *testing.T) {
	for _, fallback := range []string{dynamic.FallbackDefault, dynamic.FallbackReject} {
		config := environments("dev", "dev.a")
		config.Fallback, config.Service = fallback, "all"
		dev, a, whole := &named{name: "dev"}, &named{name: "a"}, &named{name: "all"}
		var present atomic.Bool
		subsets := []service.Child{dev.child(0), a.child(0)}
		for i := range subsets {
			subsets[i].Present = present.Load
		}
		e := service.NewEnvironment(service.EnvironmentOptions{
			Name: "e@file", Selector: selectorOf(t, config), Subsets: subsets, Any: whole.child(0),
		})
		for _, tag := range []string{"dev.a", "other"} {
			if response, record := ask(t, e, "X-Virtual-Env", tag); response.StatusCode != http.StatusOK ||
				record.EnvironmentReason != "any" {
				t.Errorf("%s, %s: %d, record %+v", fallback, tag, response.StatusCode, record)
			}
		}
		whole.down.Store(true)
		if e.Up() {
			t.Errorf("%s: the service is up while all endpoints are down", fallback)
		}
		present.Store(true)
		if _, record := ask(t, e, "X-Virtual-Env", "dev.a"); record.Environment != "a" {
			t.Errorf("%s: a subset that is present does not answer: %+v", fallback, record)
		}
		if dev.down.Store(true); e.Up() {
			t.Errorf("%s: the service is up while the default subset is down", fallback)
		}
	}
}

func TestEnvironmentFallsBackToAnyEndpoint(t *testing.T) {
	config := environments("dev.a")
	config.Default, config.Fallback, config.Service = "", dynamic.FallbackAny, "all"
	a, whole := &named{name: "a"}, &named{name: "all"}
	e := service.NewEnvironment(service.EnvironmentOptions{
		Name: "e@file", Selector: selectorOf(t, config), Subsets: []service.Child{a.child(0)}, Any: whole.child(0),
	})
	_, record := ask(t, e, "X-Virtual-Env", "test")
	if whole.count.Load() != 1 || record.EnvironmentReason != "any" || record.Environment != "" {
		t.Errorf("%d requests to all endpoints, record %+v", whole.count.Load(), record)
	}
}

// BenchmarkEnvironment is what the selection among 1,000 tags of depth 4 costs a request beside its child.
func BenchmarkEnvironment(b *testing.B) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	tags := []string{"dev"}
	for i := range 999 {
		tags = append(tags, fmt.Sprintf("dev.team%d.project%d.feature%d", i%10, i%100, i))
	}
	config := environments(tags...)
	options := service.EnvironmentOptions{Name: "e@file", Selector: selectorOf(b, config)}
	for _, tag := range tags {
		child := service.Child{Name: tag, Handler: nothing, Present: func() bool { return true }}
		options.Subsets = append(options.Subsets, child)
	}
	for name, tag := range map[string]string{
		"exact": tags[753], "ancestor of the first level": "dev.team3.project53.none", "default": "other.a.b.c", "no tag": "",
	} {
		b.Run(name, func(b *testing.B) {
			handler := service.NewEnvironment(options)
			ctx := telemetry.WithRecord(b.Context(), &telemetry.Record{})
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://x.test/", http.NoBody)
			if tag != "" {
				r.Header.Set("X-Virtual-Env", tag)
			}
			w := &silent{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
