package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// many is how many routers a large configuration has.
	many = 10000
	// bound is how long an answer for a page may take with that many.
	bound = 300 * time.Millisecond
)

// large returns a configuration with many routers: each tenth leads to the service blog, each hundredth lists a
// middleware, and each thousandth lists one that does not exist.
func large(t *testing.T) string {
	t.Helper()
	routers := map[string]any{}
	for i := range many {
		router := object{
			"rule": fmt.Sprintf("Host(`h%05d.test`) && PathPrefix(`/p%d`)", i, i%7), "service": "shop",
			"priority": 1 + (i*7919)%many,
		}
		if i%10 == 0 {
			router["service"] = "blog"
		}
		if i%100 == 0 {
			router["middlewares"] = []string{"limit"}
		}
		if i%1000 == 0 {
			router["middlewares"] = []string{"limit", "missing"}
		}
		routers[fmt.Sprintf("team-%02d/r%05d", i%50, i)] = router
	}
	balancer := object{"loadBalancer": object{"servers": []object{{"url": "http://127.0.0.1:1"}}}}
	text, err := json.Marshal(object{"http": object{
		"routers": routers, "services": object{"shop": balancer, "blog": balancer},
		"middlewares": object{"limit": object{"rateLimit": object{"average": 1000}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestManyRouters pages, searches, filters and sorts a large configuration.
func TestManyRouters(t *testing.T) {
	t.Parallel()
	s := start(t, "insecure: true", map[string]string{"large.yaml": large(t)})
	s.Until("the verdicts", func(r harness.Readiness) bool { return r.Quarantined == many/1000 })
	client := management(t, s)
	doc := published(t, client, "")
	t.Run("pages", func(t *testing.T) { walk(t, client.For(t)) })
	t.Run("filters", func(t *testing.T) { filters(t, client.For(t)) })
	t.Run("order", func(t *testing.T) { order(t, client.For(t)) })
	t.Run("time", func(t *testing.T) { measure(t, client.For(t)) })
	for _, path := range []string{
		"/api/rawdata", "/api/http/routers?per_page=100000", "/api/overview", "/api/generations",
		"/api/routes", "/api/traffic/routers",
	} {
		doc.get(t, client, path, http.StatusOK)
	}
	if routers := decode[struct{ Routers []object }](t, client.Get("/api/traffic/routers")).Routers; len(routers) > 500 {
		t.Errorf("the traffic of %d routers is listed at once", len(routers))
	}
}

// walk follows X-Next-Page from the first page to the last.
func walk(t *testing.T, client *harness.Client) {
	const perPage = 300
	seen := map[string]bool{}
	last := ""
	page, pages := 1, 0
	for {
		names, header := list(t, client, fmt.Sprintf("/api/http/routers?page=%d&per_page=%d&search=@file", page, perPage))
		pages++
		for _, name := range names {
			if seen[name] || name <= last {
				t.Fatalf("%s is on page %d behind %s", name, page, last)
			}
			seen[name], last = true, name
		}
		if header.Get("X-Total-Count") != strconv.Itoa(many) {
			t.Errorf("page %d counts %s routers", page, header.Get("X-Total-Count"))
		}
		next, err := strconv.Atoi(header.Get("X-Next-Page"))
		if err != nil {
			t.Fatal(err)
		}
		if next == 1 {
			break
		}
		if next != page+1 || len(names) != perPage {
			t.Fatalf("page %d has %d routers, and the next one is %d", page, len(names), next)
		}
		page = next
	}
	if len(seen) != many || pages != (many+perPage-1)/perPage {
		t.Errorf("%d routers on %d pages", len(seen), pages)
	}
	if names, _ := list(t, client, "/api/http/routers"); len(names) != 100 {
		t.Errorf("a page has %d routers without a size", len(names))
	}
}

// filters counts what is kept.
func filters(t *testing.T, client *harness.Client) {
	for query, want := range map[string]int{
		"search=R00042":                         1,
		"search=team-07/":                       many / 50,
		"search=H0123":                          10, // In the rule.
		"search=blog":                           many / 10,
		"status=disabled":                       many / 1000,
		"status=warning":                        0,
		"serviceName=blog@file":                 many / 10,
		"serviceName=nobody@file":               0,
		"middlewareName=limit@file":             many / 100,
		"status=disabled&serviceName=shop@file": 0,
		"status=enabled&middlewareName=limit@file&search=team-00": many/100 - many/1000,
	} {
		_, header := list(t, client, "/api/http/routers?"+query)
		if got := header.Get("X-Total-Count"); got != strconv.Itoa(want) {
			t.Errorf("%s keeps %s routers, want %d", query, got, want)
		}
	}
	name := "team-42/r00042@file"
	if names, _ := list(t, client, "/api/http/routers?search="+url.QueryEscape(name)); !slices.Equal(names,
		[]string{name}) {
		t.Errorf("the search finds %q", names)
	}
	if got := decode[object](t, client.Get("/api/http/routers/"+escape(name))); got["name"] != name {
		t.Errorf("%s is shown as %v", name, got)
	}
}

// order sorts by all that routers are sorted by, in both directions.
func order(t *testing.T, client *harness.Client) {
	for _, by := range []string{"name", "provider", "status", "priority", "rule", "service", "entryPoints"} {
		up, _ := list(t, client, "/api/http/routers?search=@file&per_page=20000&sortBy="+by)
		down, _ := list(t, client, "/api/http/routers?search=@file&per_page=20000&direction=desc&sortBy="+by)
		slices.Reverse(down)
		if len(up) != many || !slices.Equal(up, down) {
			t.Errorf("by %s: %d routers, and the other direction is another order", by, len(up))
		}
	}
	priorities := []float64{}
	for _, router := range decode[[]object](t,
		client.Get("/api/http/routers?search=@file&sortBy=priority&direction=desc&per_page=500")) {
		priorities = append(priorities, router["priority"].(float64))
	}
	if !slices.IsSortedFunc(priorities, func(a, b float64) int { return int(b - a) }) || priorities[0] != many {
		t.Errorf("by priority, from above: %v", priorities)
	}
	disabled := decode[[]object](t, client.Get("/api/http/routers?sortBy=status&per_page=10"))
	for _, router := range disabled {
		if router["status"] != "disabled" {
			t.Errorf("by status: %v is first", router)
		}
	}
}

// measure sends requests like the search of the dashboard. The first request after a change builds the view for the
// others.
func measure(t *testing.T, client *harness.Client) {
	took := []time.Duration{}
	text := "team-07/r04"
	for i := range 3 * len(text) {
		begin := time.Now()
		answer := client.Get("/api/http/routers?per_page=50&sortBy=priority&search=" + text[:1+i%len(text)])
		took = append(took, time.Since(begin))
		if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Text, "[{") {
			t.Errorf("status %d: %.100s", answer.StatusCode, answer.Text)
		}
	}
	slices.Sort(took)
	t.Logf("a page of %d routers with search: median %v, longest %v", many, took[len(took)/2], took[len(took)-1])
	if took[len(took)/2] > bound {
		t.Errorf("a page of %d routers with search takes %v", many, took[len(took)/2])
	}
}
