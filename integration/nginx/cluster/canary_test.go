package cluster

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluiceproxy/sluice/integration/nginx/population"
)

// TestCanaries hands a part of the requests to a second Service.
func TestCanaries(t *testing.T) {
	w := prepare(t)
	g := open(w, static)
	t.Run("by weight", func(t *testing.T) { canaryByWeight(w.on(t), g.on(t)) })
	t.Run("in the order of nginx", func(t *testing.T) { canaryInOrder(w.on(t), g.on(t)) })
	t.Run("sticky", func(t *testing.T) { canarySticky(w.on(t), g.on(t)) })
	t.Run("follows its Ingress", func(t *testing.T) { canaryFollows(w.on(t), g.on(t)) })
}

// pair creates an Ingress of a host and its canary, each with a Service of its own: ingress-nginx has one canary for
// all Ingresses of a Service. Their endpoints are main and canary.
func (w *world) pair(number int, name string, main, canary notes) (host string) {
	w.t.Helper()
	for i, of := range []string{"main", "canary"} {
		w.serviceOf(name+"-"+of, fmt.Sprintf("198.18.%d.%d", 201+i, number+1), of)
	}
	host = name + ".test"
	w.put(ingress(name, host, name+"-main", main), ingress(name+"-canary", host, name+"-canary", canary))
	return host
}

// canaryByWeight sends as many requests as make a deviation by one percent of them improbable: the standard deviation
// is less than a fourth of that.
func canaryByWeight(w *world, g *gate) {
	for i, test := range []struct {
		weight, total string
		share         float64
	}{
		{"10", "", 0.1}, {"33", "", 0.33}, {"150", "200", 0.75}, {"0", "", 0}, {"100", "", 1},
	} {
		annotations := notes{"canary": "true", "canary-weight": test.weight}
		if test.total != "" {
			annotations["canary-weight-total"] = test.total
		}
		host := w.pair(i, "weight-"+test.weight, nil, annotations)
		first := "200 main"
		if test.share > 0 {
			first = "200 canary"
		}
		g.becomes(host+"/", first)
		const deviations = 4.3 // Once in 50,000 runs.
		count := max(500, int(math.Ceil(deviations*deviations*test.share*(1-test.share)/(0.01*0.01))))
		got := float64(chosen(g, host, count)) / float64(count)
		w.t.Logf("weight %s of %s: %.4f of %d requests, want %.4f", test.weight, test.total, got, count, test.share)
		if math.Abs(got-test.share) > 0.01 || test.share == math.Trunc(test.share) && got != test.share {
			w.t.Errorf("weight %s of %s: the share is %.4f of %d requests, want %.4f", test.weight, test.total, got, count,
				test.share)
		}
	}
}

// chosen sends requests and counts those that the canary answers.
func chosen(g *gate, host string, count int) int64 {
	const clients = 8
	var canary, failed atomic.Int64
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for i := client; i < count; i += clients {
				request := g.web.Request(http.MethodGet, "/", nil)
				request.Host = host
				answer, err := g.web.Try(request)
				switch {
				case err != nil || answer.StatusCode != http.StatusOK:
					failed.Add(1)
				case answer.Header.Get(population.FieldBackend) == "canary":
					canary.Add(1)
				}
			}
		})
	}
	running.Wait()
	if n := failed.Load(); n > 0 {
		g.t.Errorf("%s: %d of %d requests failed", host, n, count)
	}
	return canary.Load()
}

// canaryInOrder has a header decide before a cookie, and that before the weight.
func canaryInOrder(w *world, g *gate) {
	const main, canary = "200 main", "200 canary"
	for i, test := range []struct {
		annotations notes
		// answers are by fields of the request.
		answers map[string]string
	}{
		{notes{"canary-by-header": "X-Canary"}, map[string]string{
			"": main, "X-Canary: always": canary, "X-Canary: never": main, "X-Canary: else": main, "x-canary: always": canary,
		}},
		{notes{"canary-by-header": "X-Canary", "canary-weight": "100"}, map[string]string{
			"": canary, "X-Canary: always": canary, "X-Canary: never": main, "X-Canary: else": canary,
		}},
		{notes{"canary-by-header": "X-Canary", "canary-by-header-value": "blue"}, map[string]string{
			"": main, "X-Canary: blue": canary, "X-Canary: Blue": main, "X-Canary: always": main,
		}},
		{notes{"canary-by-header": "X-Canary", "canary-by-header-value": "blue", "canary-weight": "100"}, map[string]string{
			"X-Canary: never": canary, "X-Canary: blue": canary,
		}},
		{notes{"canary-by-header": "X-Canary", "canary-by-header-pattern": "^(de|at)-[0-9]+$"}, map[string]string{
			"": main, "X-Canary: de-1": canary, "X-Canary: at-22": canary, "X-Canary: ch-1": main, "X-Canary: always": main,
		}},
		{notes{
			"canary-by-header": "X-Canary", "canary-by-header-value": "blue", "canary-by-header-pattern": "^green$",
		}, map[string]string{"X-Canary: blue": canary, "X-Canary: green": main}},
		{notes{"canary-by-cookie": "choice"}, map[string]string{
			"": main, "Cookie: choice=always": canary, "Cookie: choice=never": main, "Cookie: choice=else": main,
			"Cookie: other=1; choice=always": canary,
		}},
		{notes{"canary-by-cookie": "choice", "canary-weight": "100"}, map[string]string{
			"": canary, "Cookie: choice=never": main, "Cookie: choice=always": canary, "Cookie: choice=else": canary,
		}},
		{notes{"canary-by-header": "X-Canary", "canary-by-cookie": "choice"}, map[string]string{
			"X-Canary: never|Cookie: choice=always": main, "X-Canary: always|Cookie: choice=never": canary,
			"X-Canary: else|Cookie: choice=always": canary,
		}},
	} {
		test.annotations["canary"] = "true"
		host := w.pair(10+i, "order-"+strconv.Itoa(i), nil, test.annotations)
		for fields, want := range test.answers {
			if want == canary { // Until it is there, the other one answers all.
				g.becomes(host+"/", want, split(fields)...)
			}
		}
		for fields, want := range test.answers {
			g.expect(host+"/", want, split(fields)...)
		}
	}
}

func split(fields string) []string {
	if fields == "" {
		return nil
	}
	return strings.Split(fields, "|")
}

// canarySticky keeps a client at the Service that its first request went to, also one from before the canary.
func canarySticky(w *world, g *gate) {
	for i, of := range []string{"main", "canary"} {
		w.serviceOf("sticky-"+of, fmt.Sprintf("198.18.%d.31", 201+i), of)
	}
	w.put(ingress("sticky", "sticky.test", "sticky-main", notes{"affinity": "cookie", "session-cookie-name": "route"}))
	early := g.placed("sticky.test/", "main")
	w.put(ingress("sticky-canary", "sticky.test", "sticky-canary", notes{"canary": "true", "canary-weight": "50"}))
	g.until(func() bool { return g.ask("sticky.test/") == "200 canary" }, func() string { return "no canary answers" })
	for range 50 {
		g.expect("sticky.test/", "200 main", early)
	}
	for _, want := range []string{"main", "canary"} {
		cookies := g.placed("sticky.test/", want)
		for range 50 {
			g.expect("sticky.test/", "200 "+want, cookies)
		}
	}
	// A client that the canary keeps comes back to the main Service when the canary goes.
	w.DeleteNow("Ingress.networking.k8s.io", home+"/sticky-canary")
	g.until(func() bool {
		for range 20 {
			if g.ask("sticky.test/") != "200 main" {
				return false
			}
		}
		return true
	}, func() string { return "the canary still answers" })
}

// placed has first requests made until one goes to a Service, and returns the field with the cookies that it got.
func (g *gate) placed(target, service string) (field string) {
	g.t.Helper()
	var cookies []string
	g.until(func() bool {
		answer := g.get(target)
		cookies = nil
		for _, cookie := range answer.Cookies() {
			cookies = append(cookies, cookie.Name+"="+cookie.Value)
		}
		return answer.Header.Get(population.FieldBackend) == service && len(cookies) > 0
	}, func() string { return "no first request goes to " + service + " and has a cookie" })
	return "Cookie: " + strings.Join(cookies, "; ")
}

// canaryFollows changes and removes the Ingresses of a canary in both orders.
func canaryFollows(w *world, g *gate) {
	const host = "follow.test"
	always := notes{"canary": "true", "canary-weight": "100"}
	w.pair(31, "follow", nil, always)
	g.becomes(host+"/", "200 canary")
	w.put(ingress("follow-canary", host, "follow-canary", notes{"canary": "true", "canary-weight": "0"}))
	g.becomes(host+"/", "200 main")
	w.put(ingress("follow-canary", host, "follow-canary", always))
	g.becomes(host+"/", "200 canary")
	w.DeleteNow("Ingress.networking.k8s.io", home+"/follow") // A canary alone declares no host.
	g.becomes(host+"/", "404")
	w.put(ingress("follow", host, "follow-main", nil))
	g.becomes(host+"/", "200 canary")
	w.DeleteNow("Ingress.networking.k8s.io", home+"/follow-canary")
	g.becomes(host+"/", "200 main")
}
