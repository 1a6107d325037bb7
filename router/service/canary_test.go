package service_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
	"github.com/sluiceproxy/sluice/router/service"
)

// released is a canary service with its two children.
type released struct {
	*service.Canary
	main, canary *named
}

func newCanary(t *testing.T, config dynamic.Canary) *released {
	t.Helper()
	c := &released{main: &named{name: "main"}, canary: &named{name: "canary"}}
	options := service.CanaryOptions{
		Main: c.main.child(0), Canary: c.canary.child(0), Config: &config, MainCookies: []string{"endpoint"},
	}
	var err error
	if config.Sticky != nil {
		if options.Cookie, err = sticky.New("shop@file", config.Sticky.Cookie); err != nil {
			t.Fatal(err)
		}
	}
	if c.Canary, err = service.NewCanary(options); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCanaryRules has the rules in their order, with weights that make the last one certain.
func TestCanaryRules(t *testing.T) {
	for name, row := range map[string]struct {
		config dynamic.Canary
		fields []string
		want   string
	}{
		"no weight":              {dynamic.Canary{}, nil, "main"},
		"weight of all":          {dynamic.Canary{Weight: 100}, nil, "canary"},
		"weight of 1000":         {dynamic.Canary{Weight: 1000, WeightTotal: 1000}, nil, "canary"},
		"header always":          {dynamic.Canary{Header: "canaryHeader"}, []string{"Canaryheader", "always"}, "canary"},
		"header never":           {dynamic.Canary{Header: "X-C", Weight: 100}, []string{"X-C", "never"}, "main"},
		"header else":            {dynamic.Canary{Header: "X-C", Weight: 100}, []string{"X-C", "foo"}, "canary"},
		"header else, no weight": {dynamic.Canary{Header: "X-C"}, []string{"X-C", "foo"}, "main"},
		"header in capitals":     {dynamic.Canary{Header: "X-C"}, []string{"X-C", "Always"}, "main"},
		"no header":              {dynamic.Canary{Header: "X-C"}, []string{"X-D", "always"}, "main"},
		"two headers":            {dynamic.Canary{Header: "X-C"}, []string{"X-C", "always", "X-C", "always"}, "main"},
		"value":                  {dynamic.Canary{Header: "X-C", HeaderValue: "foo"}, []string{"X-C", "foo"}, "canary"},
		"value, always":          {dynamic.Canary{Header: "X-C", HeaderValue: "foo"}, []string{"X-C", "always"}, "main"},
		"value, never": {
			dynamic.Canary{Header: "X-C", HeaderValue: "foo", Weight: 100}, []string{"X-C", "never"}, "canary",
		},
		"values joined": {
			dynamic.Canary{Header: "X-C", HeaderValue: "a, b"}, []string{"X-C", "a", "X-C", "b"}, "canary",
		},
		"value of another header": {dynamic.Canary{Header: "X-C", HeaderValue: "foo"}, []string{"X-D", "foo"}, "main"},
		"pattern":                 {dynamic.Canary{Header: "X-C", HeaderPattern: "^(a|b)+$"}, []string{"X-C", "abba"}, "canary"},
		"pattern within":          {dynamic.Canary{Header: "X-C", HeaderPattern: "b"}, []string{"X-C", "abc"}, "canary"},
		"pattern and case":        {dynamic.Canary{Header: "X-C", HeaderPattern: "b"}, []string{"X-C", "B"}, "main"},
		"pattern of nothing":      {dynamic.Canary{Header: "X-C", HeaderPattern: "^$"}, []string{"X-C", ""}, "canary"},
		"pattern, other value": {
			dynamic.Canary{Header: "X-C", HeaderPattern: "^x", Cookie: "c"},
			[]string{"X-C", "y", "Cookie", "c=always"},
			"canary",
		},
		"cookie always": {dynamic.Canary{Cookie: "canaryCookie"}, []string{"Cookie", "canaryCookie=always"}, "canary"},
		"cookie never":  {dynamic.Canary{Cookie: "c", Weight: 100}, []string{"Cookie", "c=never"}, "main"},
		"cookie else":   {dynamic.Canary{Cookie: "c"}, []string{"Cookie", "c=foo"}, "main"},
		"other cookie":  {dynamic.Canary{Cookie: "c"}, []string{"Cookie", "d=always"}, "main"},
		"header and cookie": {
			dynamic.Canary{Header: "X-C", Cookie: "c"}, []string{"X-C", "never", "Cookie", "c=always"}, "main",
		},
		"header else, cookie": {
			dynamic.Canary{Header: "X-C", Cookie: "c"}, []string{"X-C", "x", "Cookie", "c=always"}, "canary",
		},
		"host": {dynamic.Canary{Header: "host", HeaderValue: "x.test"}, nil, "canary"},
	} {
		c := newCanary(t, row.config)
		if response, _ := ask(t, c, row.fields...); response.Header.Get("X-Service") != row.want ||
			response.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %v, want %s", name, response.Header, row.want)
		}
	}
}

// TestCanaryWeight compares shares with what chance allows: five standard deviations, which a sound service exceeds
// in one of a million runs.
func TestCanaryWeight(t *testing.T) {
	const requests = 20_000
	for _, row := range []struct{ weight, total int }{{10, 0}, {33, 100}, {1, 100}, {150, 200}, {5, 1000}} {
		c := newCanary(t, dynamic.Canary{Weight: row.weight, WeightTotal: row.total})
		for range requests {
			ask(t, c)
		}
		share := float64(row.weight) / float64(max(row.total, 100))
		want, bound := share*requests, 5*math.Sqrt(requests*share*(1-share))
		if got := float64(c.canary.count.Load()); math.Abs(got-want) > bound {
			t.Errorf("weight %d of %d: %v of %d requests, want %v +- %v", row.weight, row.total, got, requests, want, bound)
		}
	}
}

func pairOf(t *testing.T, response *http.Response) string {
	t.Helper()
	pair, attributes, _ := strings.Cut(response.Header.Get("Set-Cookie"), ";")
	if attributes != " Path=/; HttpOnly" {
		t.Errorf("the cookie is %q", response.Header.Get("Set-Cookie"))
	}
	return pair
}

func TestCanaryIsSticky(t *testing.T) {
	config := dynamic.Canary{
		Header: "X-C", Cookie: "c", Sticky: &dynamic.Sticky{Cookie: &dynamic.Cookie{Name: "lb", HTTPOnly: true}},
	}
	c := newCanary(t, config)
	first, _ := ask(t, c)
	onMain := pairOf(t, first)
	second, _ := ask(t, c, "X-C", "always")
	onCanary := pairOf(t, second)
	if onMain != "lb="+sticky.ID("main") || onCanary != "lb="+sticky.ID("canary") {
		t.Errorf("the cookies are %s and %s", onMain, onCanary)
	}
	goes := func(what, want string, set bool, fields ...string) {
		t.Helper()
		response, _ := ask(t, c, fields...)
		if response.Header.Get("X-Service") != want || (response.Header.Get("Set-Cookie") != "") != set {
			t.Errorf("%s: %v, want %s", what, response.Header, want)
		}
	}
	goes("a client of main, whatever its header", "main", false, "Cookie", onMain, "X-C", "always")
	goes("a client of main, whatever its cookie", "main", false, "Cookie", onMain+"; c=always")
	goes("a client of the canary, whatever its header", "canary", false, "Cookie", onCanary, "X-C", "never")
	goes("a client of another service", "main", true, "Cookie", "lb=0123456789abcdef")
	goes("a client of an endpoint of main", "main", false, "Cookie", "endpoint=0a", "X-C", "always")
	goes("a client of an endpoint and the canary", "canary", false, "Cookie", "endpoint=0a; "+onCanary)
	goes("a client of an endpoint and another service", "canary", true,
		"Cookie", "endpoint=0a; lb=0123456789abcdef", "X-C", "always")
	goes("two cookies", "canary", false, "Cookie", "lb=0123456789abcdef; "+onCanary)
	c.canary.down.Store(true)
	goes("a client of the canary that is down", "main", false, "Cookie", onCanary)
	goes("always while the canary is down", "main", true, "X-C", "always")
	c.canary.down.Store(false)
	goes("a client of the canary that is back", "canary", false, "Cookie", onCanary)

	config.StickyService = true
	c = newCanary(t, config)
	goes("legacy: a client of main", "main", false, "Cookie", onMain, "X-C", "always")
	goes("legacy: a cookie of the canary is none", "main", true, "Cookie", onCanary)
	goes("legacy: the canary gives no cookie", "canary", false, "X-C", "always")
	goes("legacy: a client of an endpoint of main", "main", false, "Cookie", "endpoint=0a", "X-C", "always")

	config.Sticky, config.StickyService = nil, false
	c = newCanary(t, config)
	goes("a canary that is not sticky", "canary", false, "Cookie", "endpoint=0a", "X-C", "always")
}

// TestCanaryDown has only one of the two services up.
func TestCanaryDown(t *testing.T) {
	c := newCanary(t, dynamic.Canary{Weight: 100})
	goes := func(want string, up bool) {
		t.Helper()
		if response, _ := ask(t, c); response.Header.Get("X-Service") != want || c.Up() != up {
			t.Errorf("%v, up %t, want %s, %t", response.Header, c.Up(), want, up)
		}
	}
	goes("canary", true)
	c.canary.down.Store(true)
	goes("main", true)
	c.main.down.Store(true)
	goes("main", false)
	c.canary.down.Store(false)
	goes("main", false)
}

func TestCanaryRefuses(t *testing.T) {
	a, b := &named{name: "a"}, &named{name: "b"}
	for want, config := range map[string]dynamic.Canary{
		"canary.weight -1 is not from 0 to 100":                           {Weight: -1},
		"canary.weight 101 is not from 0 to 100":                          {Weight: 101},
		"canary.weightTotal 99 is less than 100":                          {WeightTotal: 99},
		`canary.header "a b" is not a header name`:                        {Header: "a b"},
		"canary.headerValue and canary.headerPattern need canary.header":  {HeaderValue: "x"},
		"canary.headerValue and canary.headerPattern exclude one another": {Header: "x", HeaderValue: "x", HeaderPattern: "y"},
		`canary.cookie "a=b" can't be the name of a cookie`:               {Cookie: "a=b"},
		"canary.stickyService needs canary.sticky.cookie":                 {StickyService: true},
		"canary.headerPattern: not a regular expression":                  {Header: "x", HeaderPattern: "("},
		"canary.headerPattern: lookahead at byte 0 is not supported":      {Header: "x", HeaderPattern: "(?=a)"},
	} {
		_, err := service.NewCanary(service.CanaryOptions{Main: a.child(0), Canary: b.child(0), Config: &config})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err := service.NewCanary(service.CanaryOptions{Main: a.child(0), Canary: a.child(0), Config: &dynamic.Canary{}})
	if err == nil || !strings.Contains(err.Error(), "the same service") {
		t.Error(err)
	}
}

// TestCanaryOverConnections sends requests through listeners to two endpoints.
func TestCanaryOverConnections(t *testing.T) {
	answers := func(name string) *dynamic.Service {
		return endpoint(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, name) })
	}
	p := newProxy(t, map[string]*dynamic.Service{
		"top@file": {Canary: &dynamic.Canary{
			Service: "stable", Canary: "next", Header: "X-C",
			Sticky: &dynamic.Sticky{Cookie: &dynamic.Cookie{Name: "release"}},
		}},
		"stable@file": answers("stable"), "next@file": answers("next"),
	})
	conn, reader := p.dial()
	defer conn.Close() //nolint:errcheck // a test's
	for _, row := range []struct{ fields, want string }{
		{"", "stable"},
		{"X-C: always\r\n", "next"},
		{"Cookie: release=" + sticky.ID("stable") + "\r\nX-C: always\r\n", "stable"},
		{"Cookie: release=" + sticky.ID("next") + "\r\n", "next"},
	} {
		_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x.test\r\n%s\r\n", row.fields)
		answer(t, reader, row.want)
	}
}
