package router

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestCountsGoOn has the middlewares of another process go on with the counts for their owners.
func TestCountsGoOn(t *testing.T) {
	process := func(routers ...string) *bench {
		b := newBench(t)
		b.hourly("limit@file", nil)
		b.hourly("shared@file", func(limit *dynamic.RateLimit) { limit.Shared = true })
		for _, name := range routers {
			b.router(name+"@file", "Host(`"+name+".test`)", "a@internal", "limit@file")
		}
		for _, name := range []string{"third", "fourth"} {
			b.router(name+"@file", "Host(`"+name+".test`)", "a@internal", "shared@file")
		}
		b.all()
		return b
	}
	before := process("first", "second")
	before.wantStatus("http://first.test/", http.StatusOK)
	before.wantStatus("http://third.test/", http.StatusOK)
	counts, all := before.compiler.ExportCounts(10)
	if len(counts) != 2 || !all {
		t.Fatalf("counts %v, all %v", counts, all)
	}
	if _, all := before.compiler.ExportCounts(1); all {
		t.Error("all counts, beyond the limit")
	}
	after := process("first", "other")
	if err := after.compiler.ImportCounts(append(counts, MiddlewareCounts{Name: "absent@file"})); err != nil {
		t.Fatal(err)
	}
	after.wantStatus("http://first.test/", http.StatusTooManyRequests)
	after.wantStatus("http://other.test/", http.StatusOK)
	after.wantStatus("http://fourth.test/", http.StatusTooManyRequests)
	counts[0].Data = []byte("damaged")
	if err := after.compiler.ImportCounts(counts); err == nil {
		t.Error("damaged counts are no error")
	}
}
