package router

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestPatternsAreShared has many routers with one regular expression, which is in memory once.
func TestPatternsAreShared(t *testing.T) {
	const routers = 200
	for _, test := range []struct {
		matcher               dynamic.Match
		agent, path           string
		otherAgent, otherPath string
	}{
		{
			dynamic.Match{Name: "HeaderRegexp", Args: []string{"User-Agent", "^(?:bot|crawler|spider)[a-z]{0,900}$"}},
			"crawlers", "/", "a crawler", "/",
		},
		{
			dynamic.Match{Name: "NormalizedPathRegexp", Args: []string{"^/(?:bot|crawler|spider)[a-z]{0,900}$"}},
			"", "/crawlers", "", "/a/crawler",
		},
	} {
		b := newBench(t)
		b.all()
		before := heap()
		for i := range routers {
			b.router(fmt.Sprintf("r%d@file", i), "", "a@internal").Match = &dynamic.Match{All: []dynamic.Match{
				{Name: "Host", Args: []string{fmt.Sprintf("h%d.test", i)}}, test.matcher,
			}}
		}
		b.all()
		if grown := heap() - before; grown > 8<<20 {
			t.Errorf("%s: %d bytes for %d routers", test.matcher.Name, grown, routers)
		}
		status := func(agent, path string) int {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://h7.test"+path, nil)
			r.Header.Set("User-Agent", agent)
			b.target.Handler("web").ServeHTTP(w, r)
			return w.Code
		}
		if got := status(test.agent, test.path); got != http.StatusOK {
			t.Errorf("%s: status %d", test.matcher.Name, got)
		}
		if got := status(test.otherAgent, test.otherPath); got != http.StatusNotFound {
			t.Errorf("%s: status %d of another request", test.matcher.Name, got)
		}
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
