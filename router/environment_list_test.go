package router

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
)

// environmentOf is an environment service with the default tag dev, whose subset of a tag is the service of that name.
func environmentOf(change func(*dynamic.Environment), tags ...string) *dynamic.Service {
	config := &dynamic.Environment{}
	config.SetDefaults()
	config.Default = "dev"
	for _, tag := range tags {
		config.Subsets = append(config.Subsets, dynamic.EnvironmentSubset{Tag: tag, Service: tag})
	}
	if change != nil {
		change(config)
	}
	return &dynamic.Service{Environment: config}
}

// listed returns the environment services of the table, each with what answers the tags.
func (b *bench) listed(tags ...string) map[string]EnvironmentStatus {
	b.t.Helper()
	found := map[string]EnvironmentStatus{}
	var names []string
	for _, one := range b.target.Table().Environments() {
		found[one.Name()] = one.Status(tags)
		names = append(names, one.Name())
	}
	if !slices.IsSorted(names) || len(found) != len(names) {
		b.t.Errorf("the services are %q", names)
	}
	return found
}

func TestEnvironmentServicesAreListed(t *testing.T) {
	b := newBench(t)
	one, _ := endpointServer(t, "one")
	two, _ := endpointServer(t, "two")
	b.service("dev@file", balancer(one, two))
	b.service("dev.a@file", &dynamic.Service{
		LoadBalancer: &dynamic.ServersLoadBalancer{EndpointSet: "kubernetes/default/web:80", Scheme: "http"},
	})
	b.service("both@file", weightedOf("dev", "dev", "dev.a"))
	b.service("shop@file", environmentOf(func(e *dynamic.Environment) {
		e.Fallback, e.Service, e.Default, e.Header = dynamic.FallbackAny, "both", "main", "x-env"
	}, "dev", "dev.a"))
	b.service("orders@file", environmentOf(func(e *dynamic.Environment) {
		e.Fallback, e.Exists, e.Strict = dynamic.FallbackReject, dynamic.ExistsReady, true
	}, "dev", "dev.a"))
	b.service("broken@file", environmentOf(nil, "ghost"))
	b.router("shop@file", "Path(`/shop`)", "shop")
	b.all()

	dev := SubsetStatus{Tag: "dev", Service: "dev@file", Selectable: true, Up: true, Serving: 2, Endpoints: 2}
	absent := SubsetStatus{Tag: "dev.a", Service: "dev.a@file"}
	answer := func(tag, reason, subset, service string, endpoints int) EnvironmentAnswer {
		return EnvironmentAnswer{
			Tag: tag, Reason: environment.Reason(reason), Subset: subset, Service: service, Up: endpoints > 0,
			Serving: endpoints, Endpoints: endpoints,
		}
	}
	want := map[string]EnvironmentStatus{
		"orders@file": {
			Name: "orders@file", Header: "X-Virtual-Env", Splitter: ".", Default: "dev", Fallback: "reject",
			Exists: "ready", Strict: true, Subsets: []SubsetStatus{dev, absent},
			Answers: []EnvironmentAnswer{
				answer("dev.a", "ancestor", "dev", "dev@file", 2), answer("other", "none", "", "", 0),
				answer("", "default", "dev", "dev@file", 2),
			},
		},
		"shop@file": {
			Name: "shop@file", Header: "X-Env", Splitter: ".", Default: "main", Fallback: "any", Exists: "pods",
			Subsets: []SubsetStatus{dev, {Tag: "dev.a", Service: "dev.a@file", Selectable: true}},
			Any:     &SubsetStatus{Service: "both@file", Selectable: true, Up: true, Serving: 2, Endpoints: 2},
			Answers: []EnvironmentAnswer{
				answer("dev.a", "exact", "dev.a", "dev.a@file", 0), answer("other", "any", "", "both@file", 2),
				answer("", "any", "", "both@file", 2),
			},
		},
	}
	if diff := cmp.Diff(want, b.listed("dev.a", "other", "")); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
}

// TestEnvironmentsFollowChanges changes, removes and adds environment services to which no router leads.
func TestEnvironmentsFollowChanges(t *testing.T) {
	b := newBench(t)
	b.service("shop@file", environmentOf(nil, "dev"))
	b.service("dev@file", balancer("http://192.0.2.1"))
	b.all()
	before := b.target.Table()

	b.service("orders@file", environmentOf(nil, "dev"))
	b.service("shop@file", environmentOf(func(e *dynamic.Environment) { e.Header = "X-Env" }, "dev"))
	b.apply(true, ref(dynamic.KindService, "orders@file"), ref(dynamic.KindService, "shop@file"))
	if found := b.listed(); len(found) != 2 || found["shop@file"].Header != "X-Env" {
		t.Errorf("after an addition: %+v", found)
	}
	if found := before.Environments(); len(found) != 1 || found[0].Status(nil).Header != "X-Virtual-Env" {
		t.Error("the table before has changed")
	}

	b.service("dev@file", balancer("http://192.0.2.1", "http://192.0.2.2"))
	b.apply(true, ref(dynamic.KindService, "dev@file"))
	if found := b.listed()["orders@file"].Subsets[0]; found.Endpoints != 2 {
		t.Errorf("after a change of a subset: %+v", found)
	}

	b.config.HTTP.Services = b.config.HTTP.Services.Without("orders@file")
	b.apply(true, ref(dynamic.KindService, "orders@file"))
	if found := b.listed(); len(found) != 1 {
		t.Errorf("after a removal: %+v", found)
	}
	b.router("r@file", "Path(`/`)", "a@internal")
	b.apply(true, ref(dynamic.KindRouter, "r@file"))
	if found := b.listed(); len(found) != 1 {
		t.Errorf("after a change of a router: %+v", found)
	}
}

// TestListedAnswersAreServed compares what the list says with what requests get.
func TestListedAnswersAreServed(t *testing.T) {
	b := newBench(t)
	tags := []string{"dev", "dev.a", "dev.a.b"}
	for _, tag := range tags {
		url, _ := endpointServer(t, tag+"@file")
		b.service(tag+"@file", balancer(url))
	}
	b.service("shop@file", environmentOf(func(e *dynamic.Environment) {
		e.Fallback = dynamic.FallbackReject
	}, tags...))
	b.router("shop@file", "Path(`/`)", "shop")
	b.all()
	for _, answer := range b.listed("dev", "dev.a.b", "dev.a.b.c", "dev.a.x", "dev.", "other", "")["shop@file"].Answers {
		header := http.Header{}
		if answer.Tag != "" {
			header.Set("X-Virtual-Env", answer.Tag)
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/", http.NoBody)
		request.Header = header
		recorder := httptest.NewRecorder()
		b.target.Handler("web").ServeHTTP(recorder, request)
		code, service := recorder.Code, recorder.Header().Get("X-Service")
		if service != answer.Service || (code != http.StatusOK) != (answer.Reason == "none") {
			t.Errorf("%q: %s, and the request gets %d from %q", answer.Tag, fmt.Sprint(answer), code, service)
		}
	}
}

// TestAServiceWhoseDivisionEndsIsListed: all endpoints answer while the endpoint sets of the subsets are deleted, also
// with another fallback than any.
func TestAServiceWhoseDivisionEndsIsListed(t *testing.T) {
	b := newBench(t)
	one, _ := endpointServer(t, "one")
	b.service("all@file", balancer(one))
	b.service("dev@file", &dynamic.Service{
		LoadBalancer: &dynamic.ServersLoadBalancer{EndpointSet: "kubernetes/default/web:80#dev", Scheme: "http"},
	})
	b.service("shop@file", environmentOf(func(e *dynamic.Environment) { e.Service = "all" }, "dev"))
	b.all()
	registry := b.compiler.options.Registry
	registry.Apply(dynamic.EndpointSet{Key: "kubernetes/default/web:80#dev", Version: 1, Deleted: true})
	for next := registry.Flush(time.Now()); !next.IsZero(); next = registry.Flush(next) {
	}
	answers := b.listed("dev.a")["shop@file"].Answers
	if len(answers) != 1 || answers[0].Reason != environment.Any || answers[0].Service != "all@file" {
		t.Errorf("answered by %+v, want all endpoints", answers)
	}
}
