package router

import (
	"net/http"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/tcp"
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

// TestTCPCountsGoOn has the TCP middlewares of another process go on with the counts, also beside HTTP middlewares of
// the same name.
func TestTCPCountsGoOn(t *testing.T) {
	process := func() *tcpBench {
		b := newTCPBench(t)
		b.hourly("limit@file", func(limit *dynamic.RateLimit) { limit.Shared = true })
		b.router("a@file", "Host(`a.test`)", "a@internal", "limit@file")
		b.config.TCP.Middlewares = b.config.TCP.Middlewares.With("limit@file", &dynamic.TCPMiddleware{
			RateLimit: &dynamic.TCPRateLimit{Average: 1, Period: ptypes.Duration(time.Hour), Burst: 1},
		})
		b.tcpRouter("plain@file", "HostSNI(`*`)", func(r *dynamic.TCPRouter) { r.Middlewares = []string{"limit"} })
		b.all()
		return b
	}
	before := process()
	if got, result := before.serve(tcp.Plain, ""); got != "word" {
		t.Fatalf("%q, %+v", got, result)
	}
	counts, all := before.compiler.ExportCounts(10)
	if len(counts) != 1 || counts[0].Owner != "tcp" || counts[0].Name != "limit@file" || !all {
		t.Fatalf("counts %v, all %v", counts, all)
	}
	after := process()
	if err := after.compiler.ImportCounts(counts); err != nil {
		t.Fatal(err)
	}
	if got, result := after.serve(tcp.Plain, ""); got != "" {
		t.Errorf("%q comes back beyond the limit, %+v", got, result)
	}
	after.wantStatus("http://a.test/", http.StatusOK)
	after.config.TCP.Middlewares = after.config.TCP.Middlewares.Without("limit@file")
	after.config.TCP.Routers = after.config.TCP.Routers.Without("plain@file")
	after.apply(true, dynamic.Ref{Kind: dynamic.KindTCPMiddleware, Name: "limit@file"},
		dynamic.Ref{Kind: dynamic.KindTCPRouter, Name: "plain@file"})
	if counts, _ := after.compiler.ExportCounts(10); len(counts) != 1 || counts[0].Owner == "tcp" {
		t.Errorf("without the TCP middleware: counts %v", counts)
	}
}
