package tcp_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/router/rule/expression"
	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

func mustParse(tb testing.TB, text string) *rule.Rule {
	tb.Helper()
	parsed, err := rule.Parse(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return parsed
}

// newRoute declares a router; its value is its position.
func newRoute(tb testing.TB, text string, declared, position int) *tcp.Route[int] {
	tb.Helper()
	parsed := mustParse(tb, text)
	priority, err := tcp.Priority(declared, parsed)
	if err != nil {
		tb.Fatal(err)
	}
	return &tcp.Route[int]{
		Name: fmt.Sprint("router-", position), Rule: parsed, Priority: priority, Position: position, Value: position,
	}
}

func TestPriority(t *testing.T) {
	tests := []struct {
		declared int
		rule     string
		want     int
	}{
		{0, "HostSNI(`*`)", -1},
		{0, "hostsni(\"*\")", -1},
		{0, "HostSNI(`a.example.com`)", 24},
		{0, " HostSNI(`a.example.com`) ", 26},
		{0, "HostSNI(`*`) || HostSNI(`*`)", 28},
		{0, "HostSNIRegexp(`.*`)", 19},
		{7, "HostSNI(`a.example.com`)", 7},
		{7, "HostSNI(`*`)", 7},
		{-7, "HostSNI(`a.example.com`)", -7},
		{expression.MaxPriority, "HostSNI(`*`)", math.MaxInt - 1000},
		{math.MinInt, "HostSNI(`*`)", math.MinInt},
	}
	for _, test := range tests {
		if got, err := tcp.Priority(test.declared, mustParse(t, test.rule)); err != nil || got != test.want {
			t.Errorf("%d, %s: got %d, %v, want %d", test.declared, test.rule, got, err, test.want)
		}
	}
	for _, declared := range []int{expression.MaxPriority + 1, math.MaxInt} {
		_, err := tcp.Priority(declared, mustParse(t, "HostSNI(`a`)"))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(declared)) {
			t.Errorf("%d: got the error %v, want one that names the priority", declared, err)
		}
	}
}

func TestTable(t *testing.T) {
	type router struct {
		rule     string
		priority int
	}
	tests := []struct {
		name    string
		routers []router
		// wanted is the router of each server name by its number, or -1.
		wanted map[string]int
	}{
		{"none", nil, map[string]int{"": -1, "a.x": -1}},
		{
			"the catch-all comes last",
			[]router{{"HostSNI(`*`)", 0}, {"HostSNI(`a.x`)", 0}},
			map[string]int{"": 0, "a.x": 1, "b.x": 0},
		},
		{
			"the catch-all with a priority",
			[]router{{"HostSNI(`*`)", 100}, {"HostSNI(`a.x`)", 0}},
			map[string]int{"": 0, "a.x": 0},
		},
		{
			"below the catch-all",
			[]router{{"HostSNI(`*`)", 0}, {"HostSNI(`a.x`)", -2}},
			map[string]int{"": 0, "a.x": 0},
		},
		{
			"longer rules come first",
			[]router{{"HostSNI(`a.x`)", 0}, {"HostSNI(`a.x`) && !ALPN(`h2`)", 0}},
			map[string]int{"a.x": 1},
		},
		{
			"priorities come before lengths",
			[]router{{"HostSNI(`a.x`)", 99}, {"HostSNI(`a.x`) && !ALPN(`h2`)", 98}},
			map[string]int{"a.x": 0},
		},
		{
			"exact, wildcard and regexp",
			[]router{
				{"HostSNI(`*.x`)", 2}, {"HostSNI(`a.x`)", 3}, {"HostSNIRegexp(`x$`)", 1}, {"HostSNIRegexp(`^c`)", 9},
			},
			map[string]int{"a.x": 1, "b.x": 0, "c.x": 3, "a.b.x": 2, "x": 2, "y": -1, "": -1},
		},
		{
			"a wildcard above its host",
			[]router{{"HostSNI(`*.x`)", 3}, {"HostSNI(`a.x`)", 2}},
			map[string]int{"a.x": 0, "b.x": 0},
		},
		{
			"the first of equals",
			[]router{{"HostSNI(`a.x`)", 5}, {"HostSNI(`*.x`)", 5}, {"HostSNIRegexp(`.`)", 5}},
			map[string]int{"a.x": 0, "b.x": 1, "y": 2},
		},
		{
			"several hosts",
			[]router{{"HostSNI(`a.x`) || HostSNI(`b.x`) || HostSNI(`*.y`)", 0}},
			map[string]int{"a.x": 0, "b.x": 0, "c.y": 0, "c.x": -1},
		},
		{
			"rules that refuse",
			[]router{{"HostSNI(`a.x`) && ALPN(`h2`)", 0}, {"HostSNI(`a.x`) && HostSNI(`b.x`)", 0}},
			map[string]int{"a.x": -1, "b.x": -1},
		},
	}
	for _, test := range tests {
		var routes []*tcp.Route[int]
		for i, router := range test.routers {
			routes = append(routes, newRoute(t, router.rule, router.priority, i))
		}
		slices.Reverse(routes) // Their positions count, not their order.
		table := tcp.NewTable(routes)
		for name, want := range test.wanted {
			c := rule.NewConnection(name, nil, netip.Addr{})
			got := -1
			if route := table.Match(&c); route != nil {
				got = route.Value
			}
			if got != want {
				t.Errorf("%s: %q goes to %d, want %d", test.name, name, got, want)
			}
		}
	}
}

func TestZeroTable(t *testing.T) {
	var table tcp.Table[int]
	if route := table.Match(&rule.Connection{ServerName: "a"}); route != nil || len(table.Routes()) != 0 {
		t.Errorf("got %v, want nothing", route)
	}
}

// words are what random rules and connections consist of, so few that they meet often.
type words struct{ random *rand.Rand }

func pick[T any](w words, from ...T) T { return from[w.random.IntN(len(from))] }

func (w words) host() string {
	return pick(w, "a", "b", "x", "a.x", "b.x", "x.y", "a.x.y", "b.x.y", "c.b.x", ".x")
}

func (w words) rule(depth int) string {
	if depth > 0 {
		switch w.random.IntN(4) {
		case 0:
			return "!(" + w.rule(depth-1) + ")"
		case 1, 2:
			operator := pick(w, " && ", " || ")
			return "(" + w.rule(depth-1) + operator + w.rule(depth-1) + ")"
		}
	}
	switch w.random.IntN(8) {
	case 0:
		return "ALPN(`" + pick(w, "h2", "http/1.1") + "`)"
	case 1:
		return "ClientIP(`" + pick(w, "192.0.2.1", "192.0.2.0/24", "2001:db8::/32") + "`)"
	case 2:
		return "HostSNIRegexp(`" + pick(w, "^a", "x$", "b", "^$") + "`)"
	case 3:
		return pick(w, "HostSNI(`*`)", "HostSNI(`*.x`)", "HostSNI(`*.x.y`)", "HostSNI(`*.y`)")
	default:
		return "HostSNI(`" + strings.TrimPrefix(w.host(), ".") + "`)"
	}
}

func (w words) connection() rule.Connection {
	addresses := []netip.Addr{
		{}, netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("::ffff:192.0.2.9"), netip.MustParseAddr("2001:db8::1"),
	}
	protocols := pick(w, nil, []string{"h2"}, []string{"http/1.1", "h2"})
	return rule.NewConnection(pick(w, "", w.host()), protocols, pick(w, addresses...))
}

// linear is what a table has to agree with: the routes in global order, evaluated one by one.
func linear(routes []*tcp.Route[int], c *rule.Connection) *tcp.Route[int] {
	var best *tcp.Route[int]
	for _, route := range routes {
		if route.Rule.Match(c) && (best == nil || route.Compare(best) < 0) {
			best = route
		}
	}
	return best
}

func TestTableEqualsLinear(t *testing.T) {
	w := words{rand.New(rand.NewPCG(1, 2))}
	for range 300 {
		var routes []*tcp.Route[int]
		for i := range w.random.IntN(40) {
			route := newRoute(t, w.rule(w.random.IntN(4)), pick(w, 0, 0, 30, -1, -2), i)
			route.Position = w.random.IntN(10)
			routes = append(routes, route)
		}
		table := tcp.NewTable(routes)
		for range 100 {
			c := w.connection()
			if got, want := table.Match(&c), linear(routes, &c); got != want {
				t.Fatalf("%+v: got %s, want %s", c, describe(got), describe(want))
			}
		}
	}
}

func describe(route *tcp.Route[int]) string {
	if route == nil {
		return "no router"
	}
	return fmt.Sprintf("%s (%s, priority %d, position %d)", route.Name, route.Rule, route.Priority, route.Position)
}

// many returns routes of n hosts, every tenth of which is a wildcard, and a few of other kinds, and a connection for
// each host.
func many(tb testing.TB, n int) (*tcp.Table[int], []*rule.Connection) {
	tb.Helper()
	var routes []*tcp.Route[int]
	connections := make([]*rule.Connection, n)
	for i := range n {
		host := fmt.Sprintf("db-%d.example.com", i)
		name := host
		if i%10 == 0 {
			host, name = "*."+host, "a."+host
		}
		routes = append(routes, newRoute(tb, "HostSNI(`"+host+"`)", 0, i))
		c := rule.NewConnection(name, []string{"h2"}, netip.MustParseAddr("192.0.2.1"))
		connections[i] = &c
	}
	routes = append(routes,
		newRoute(tb, "HostSNI(`*`)", 0, n),
		newRoute(tb, "ClientIP(`10.0.0.0/8`)", 100, n+1),
		newRoute(tb, "ALPN(`postgresql`)", 100, n+2),
	)
	return tcp.NewTable(routes), connections
}

func TestMatchAllocatesNothing(t *testing.T) {
	table, connections := many(t, 100)
	i := 0
	allocated := testing.AllocsPerRun(100, func() {
		if route := table.Match(connections[i]); route.Value != i {
			t.Errorf("connection %d goes to %d", i, route.Value)
		}
		i = (i + 1) % len(connections)
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}

// BenchmarkMatch sends connections to all hosts in random order.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table, connections := many(b, n)
			rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) {
				connections[i], connections[j] = connections[j], connections[i]
			})
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if table.Match(connections[i]) == nil {
					b.Fatal("no router")
				}
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}

// BenchmarkBuild parses the rules of 10,000 routers and builds their table.
func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		many(b, 10_000)
	}
}
