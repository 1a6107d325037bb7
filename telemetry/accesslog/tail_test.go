package accesslog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

// finished is the record of a request with secrets in its query and its header.
func finished(path string, status int) *telemetry.Record {
	return &telemetry.Record{
		Start: time.Now(), Method: "GET", Host: "Shop.test:8080", Path: path, Query: "token=hunter2&hunter3",
		Entrypoint: "web", Router: "shop@file", Service: "cart@file", Status: status, Version: "HTTP/1.1",
		Observe:       telemetry.ObserveAccess,
		RequestHeader: http.Header{"Authorization": {"hunter2"}}, Client: "192.0.2.1",
	}
}

// watch returns a viewer of the requests that a query selects.
func watch(t *testing.T, tail *accesslog.Tail, query string) *accesslog.Viewer {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := accesslog.ParseTailFilter(values)
	if err != nil {
		t.Fatal(err)
	}
	viewer, err := tail.Watch(filter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(viewer.Close)
	return viewer
}

func TestTailShowsWhatAFilterSelects(t *testing.T) {
	for query, want := range map[string]bool{
		"": true, "router=shop@file&service=cart@file&host=SHOP.test&method=get&path=art&status=404": true,
		"status=4xx": true, "status=400-404": true, "status=500": false, "status=5xx": false, "router=other@file": false,
		"service=shop@file": false, "host=test": false, "method=POST": false, "path=/shop": false,
	} {
		tail := accesslog.NewTail()
		viewer := watch(t, tail, query)
		tail.Finished(finished("/cart", 404))
		if got := len(viewer.Lines()) == 1; got != want {
			t.Errorf("%q selects the request: %v", query, got)
		}
	}
	for _, bad := range []string{"teapot", "0xx", "99", "500-400"} {
		if _, err := accesslog.ParseTailFilter(url.Values{"status": {bad}}); err == nil {
			t.Errorf("status %q is accepted", bad)
		}
	}
}

func TestTailShowsNoSecret(t *testing.T) {
	tail := accesslog.NewTail()
	viewer, other := watch(t, tail, ""), watch(t, tail, "status=200")
	tail.Finished(finished("/\x1b[2J\n", 200))
	internal := finished("/api/requests", 200)
	internal.Observe = 0
	tail.Finished(internal)
	unlogged := finished("/private", 200)
	unlogged.Observe = telemetry.ObserveMetrics // observability.accessLogs is false.
	tail.Finished(unlogged)
	if len(viewer.Lines()) != 1 || len(other.Lines()) != 1 {
		t.Fatalf("%d and %d lines", len(viewer.Lines()), len(other.Lines()))
	}
	var got map[string]any
	if err := json.Unmarshal(<-viewer.Lines(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("/\x1b[2J\n?token=REDACTED&hunter3", got["RequestPath"]); diff != "" {
		t.Error(diff)
	}
	for key, value := range got {
		if value == "hunter2" || key == "request_Authorization" {
			t.Errorf("%s is shown as %v", key, value)
		}
	}
}

// TestTailBoundsTheBytesThatWait proves that requests with large heads do not fill the memory.
func TestTailBoundsTheBytesThatWait(t *testing.T) {
	tail := accesslog.NewTail()
	viewer := watch(t, tail, "")
	for range 10 {
		tail.Finished(finished("/"+strings.Repeat("x", 300<<10), 200))
	}
	if lines, lost := len(viewer.Lines()), viewer.Lost(); lines != 3 || lost != 7 {
		t.Errorf("%d lines of 300 KiB wait, %d lost; want 3 and 7", lines, lost)
	}
	for range 3 {
		viewer.Release(<-viewer.Lines())
	}
	tail.Finished(finished("/", 200))
	if lines := len(viewer.Lines()); lines != 1 {
		t.Errorf("%d lines wait after the others were released, want 1", lines)
	}
}

// TestTailIsBounded proves that neither the viewers nor the lines that wait for one grow with the requests.
func TestTailIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tail := accesslog.NewTail()
		viewer := watch(t, tail, "")
		for i := range 1000 {
			tail.Finished(finished(fmt.Sprint("/", i), 200))
		}
		if lines, lost := len(viewer.Lines()), viewer.Lost(); lines != 200 || lost != 800 || viewer.Lost() != 0 {
			t.Errorf("%d lines in a second, %d lost", lines, lost)
		}
		<-time.NewTimer(2 * time.Second).C
		for range 100 {
			tail.Finished(finished("/", 200))
		}
		if lines, lost := len(viewer.Lines()), viewer.Lost(); lines != 256 || lost != 44 {
			t.Errorf("%d lines wait, %d lost", lines, lost)
		}
		for range 7 {
			watch(t, tail, "")
		}
		if _, err := tail.Watch(accesslog.TailFilter{}); !errors.Is(err, accesslog.ErrTooManyViewers) {
			t.Errorf("a ninth viewer: %v", err)
		}
		viewer.Close()
		viewer.Close()
		watch(t, tail, "")
	})
}

func TestTailWithoutViewersAllocatesNothing(t *testing.T) {
	tail, record := accesslog.NewTail(), finished("/", 200)
	if allocations := testing.AllocsPerRun(100, func() { tail.Finished(record) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func BenchmarkTailWithoutViewers(b *testing.B) {
	tail, record := accesslog.NewTail(), finished("/", 200)
	b.ReportAllocs()
	for b.Loop() {
		tail.Finished(record)
	}
}
