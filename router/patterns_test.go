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
	b := newBench(t)
	b.all()
	before := heap()
	for i := range routers {
		b.router(fmt.Sprintf("r%d@file", i), "", "a@internal").Match = &dynamic.Match{All: []dynamic.Match{
			{Name: "Host", Args: []string{fmt.Sprintf("h%d.test", i)}},
			{Name: "HeaderRegexp", Args: []string{"User-Agent", "^(?:bot|crawler|spider)[a-z]{0,900}$"}},
		}}
	}
	b.all()
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("%d bytes for %d routers", grown, routers)
	}
	for agent, want := range map[string]int{"crawlers": http.StatusOK, "a crawler": http.StatusNotFound} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://h7.test/", nil)
		r.Header.Set("User-Agent", agent)
		b.target.Handler("web").ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", agent, w.Code, want)
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
