package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// whole requests all elements of a list.
const whole = "?per_page=1000000"

// answers maps the files that are API responses to their paths.
func answers() map[string]string {
	return map[string]string{
		"version.json":        "/api/version",
		"runtime-config.json": "/api/rawdata",
		"overview.json":       "/api/overview",
		"ready.json":          "/api/ready",
		"verdicts.json":       "/api/verdicts" + whole,
		"certificates.json":   "/api/certificates" + whole,
		"generations.json":    "/api/generations",
		"routes.json":         "/api/routes",
		"middlewares.json":    "/api/middlewares",
		"endpoints.json":      "/api/endpoints" + whole,
		"traffic.json":        "/api/traffic",
	}
}

// items returns the files of the archive. Each is made when it is added.
func (b *Bundle) items(r *http.Request, root http.Handler, prefix string) []item {
	paths := answers()
	var all []item
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		all = append(all, item{name, func() ([]byte, error) { return answer(r, root, prefix+paths[name]) }})
	}
	state := b.options.State.State()
	for i := range state.Generations {
		number := strconv.FormatUint(state.Generations[i].Number, 10)
		all = append(all, item{"generations/" + number + ".json", func() ([]byte, error) {
			return answer(r, root, prefix+"/api/generations/"+number)
		}})
	}
	return append(all,
		item{"static-config.json", func() ([]byte, error) { return asJSON(static.Redacted(b.options.Static)) }},
		item{"dynamic-config.json", func() ([]byte, error) {
			return asJSON(dynamic.Redacted(b.options.State.State().Configuration))
		}},
		item{"metrics.txt", func() ([]byte, error) { return answer(r, b.options.Metrics, "/metrics") }},
		item{"goroutines.txt", goroutines},
		item{"runtime.json", runtimeState},
	)
}

// answer returns the response of a handler.
func answer(r *http.Request, handler http.Handler, target string) ([]byte, error) {
	if handler == nil {
		return nil, errAbsent
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Host, request.RemoteAddr, request.RequestURI = r.Host, r.RemoteAddr, target
	page := page{header: http.Header{}}
	handler.ServeHTTP(&page, request)
	switch {
	case page.status == http.StatusNotFound:
		return nil, errAbsent
	// /api/ready may answer 503.
	case page.status >= http.StatusBadRequest && page.status != http.StatusServiceUnavailable:
		return nil, fmt.Errorf("answered with status %d", page.status)
	}
	return page.body.Bytes(), nil
}

// page records a response.
type page struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (p *page) Header() http.Header { return p.header }

func (p *page) WriteHeader(status int) {
	if p.status == 0 {
		p.status = status
	}
}

func (p *page) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	return p.body.Write(b)
}

func asJSON(value any) ([]byte, error) { return json.MarshalIndent(value, "", "  ") }

// goroutines returns the stacks of all goroutines, grouped: functions and lines, without values.
func goroutines() ([]byte, error) {
	var text bytes.Buffer
	err := pprof.Lookup("goroutine").WriteTo(&text, 1)
	return text.Bytes(), err
}

// runtimeState returns the runtime metrics of Go: memory, collections, goroutines, scheduler.
func runtimeState() ([]byte, error) {
	counts := map[string]any{}
	var samples []metrics.Sample
	for _, known := range metrics.All() {
		samples = append(samples, metrics.Sample{Name: known.Name})
	}
	metrics.Read(samples)
	for _, sample := range samples {
		switch sample.Value.Kind() {
		case metrics.KindUint64:
			counts[sample.Name] = sample.Value.Uint64()
		case metrics.KindFloat64:
			counts[sample.Name] = sample.Value.Float64()
		case metrics.KindFloat64Histogram, metrics.KindBad: // A single histogram says little.
		}
	}
	return asJSON(map[string]any{
		"go": runtime.Version(), "os": runtime.GOOS, "architecture": runtime.GOARCH,
		"processors": runtime.NumCPU(), "parallel": runtime.GOMAXPROCS(0), "metrics": counts,
	})
}
