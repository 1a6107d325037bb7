package pipeline_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

var update = flag.Bool("update", false, "write the golden files")

func entryPoint(address, redirectTo string) *static.EntryPoint {
	one := &static.EntryPoint{}
	one.SetDefaults()
	one.Address = address
	if redirectTo != "" {
		target := &static.RedirectEntryPoint{}
		target.SetDefaults()
		target.To = redirectTo
		one.HTTP.Redirections = &static.Redirections{EntryPoint: target}
	}
	return one
}

func TestInternal(t *testing.T) {
	tests := map[string]func(*static.Configuration){
		"nothing": func(*static.Configuration) {},
		"redirections": func(c *static.Configuration) {
			c.EntryPoints = map[string]*static.EntryPoint{
				"web": entryPoint(":80", "websecure"), "websecure": entryPoint(":443", ""),
				"alt": entryPoint(":81", ":8443"),
			}
			c.EntryPoints["alt"].AllowACMEByPass = true
			c.EntryPoints["alt"].HTTP.Redirections.EntryPoint.Priority = 10
			c.EntryPoints["alt"].HTTP.Redirections.EntryPoint.Permanent = false
		},
		"bad-redirections": func(c *static.Configuration) {
			c.EntryPoints = map[string]*static.EntryPoint{
				"a": entryPoint(":80", "nowhere"), "b": entryPoint(":81", ":port"),
				"c": entryPoint(":82", "udp"), "udp": entryPoint(":53/udp", ""),
				"d": entryPoint(":83", "any"), "any": entryPoint(":0", ""),
			}
		},
		"services": func(c *static.Configuration) {
			c.Ping, c.API, c.Metrics = &static.Ping{}, &static.API{}, &static.Metrics{Prometheus: &static.Prometheus{}}
			c.Ping.SetDefaults()
			c.API.SetDefaults()
			c.Metrics.Prometheus.SetDefaults()
			c.API.Insecure, c.API.BasePath = true, "/sluice/"
		},
		"manual-routing": func(c *static.Configuration) {
			c.Ping, c.API, c.Metrics = &static.Ping{}, &static.API{}, &static.Metrics{Prometheus: &static.Prometheus{}}
			c.Ping.ManualRouting, c.Metrics.Prometheus.ManualRouting = true, true
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			configuration := &static.Configuration{}
			configuration.SetDefaults()
			change(configuration)
			out := pipeline.Internal(configuration)
			text, err := json.MarshalIndent(map[string]any{"http": out.HTTP, "verdicts": lines(out.Verdicts)}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "internal", name+".json")
			if *update {
				if err := os.WriteFile(golden, append(text, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(text)+"\n"); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// The names of the two routers are the same once they are joined with dashes. Were there only one, the other entrypoint
// would serve in the clear what it must redirect.
func TestInternalRedirectsEveryEntryPoint(t *testing.T) {
	configuration := &static.Configuration{}
	configuration.EntryPoints = map[string]*static.EntryPoint{
		"web_1": entryPoint(":80", "s"), "web-1": entryPoint(":81", "s"), "s": entryPoint(":443", ""),
	}
	redirected := map[string]string{}
	for _, router := range pipeline.Internal(configuration).HTTP.Routers.All() {
		redirected[router.EntryPoints[0]] = router.Middlewares[0]
	}
	if redirected["web_1"] == "" || redirected["web-1"] == "" || redirected["web_1"] == redirected["web-1"] {
		t.Errorf("redirections by entrypoint: %v, want one of its own for web_1 and web-1", redirected)
	}
}

func TestInternalPriorities(t *testing.T) {
	configuration := &static.Configuration{Ping: &static.Ping{}, API: &static.API{Insecure: true}}
	configuration.EntryPoints = map[string]*static.EntryPoint{"web": entryPoint(":80", "s"), "s": entryPoint(":443", "")}
	routers := pipeline.Internal(configuration).HTTP.Routers
	want := map[string]int{"ping": math.MaxInt, "ready": math.MaxInt, "api": math.MaxInt - 1, "web-to-s": math.MaxInt - 1}
	got := map[string]int{}
	for name, router := range routers.All() {
		got[name] = router.Priority
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("priorities (-want +got):\n%s", diff)
	}
}

func TestLogSink(t *testing.T) {
	lines := &lineLogger{}
	ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: "r@file"}
	pipeline.LogSink{Logger: lines}.Publish([]dynamic.Verdict{
		{Ref: ref, Status: dynamic.Quarantined, Reason: "why", Origin: dynamic.Origin{File: "f.yaml", Line: 2}},
		{Ref: ref, Status: dynamic.Degraded, Reason: "why"},
		{Ref: ref, Status: dynamic.Accepted},
	})
	want := []string{"error object disabled f.yaml:2", "warn object degraded", "info object has recovered or is gone"}
	if diff := cmp.Diff(want, lines.all); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// lineLogger keeps the level, the message and the origin of each line.
type lineLogger struct {
	telemetry.Discard
	all []string
}

func (l *lineLogger) add(level, message string, fields []any) {
	line := level + " " + message
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "origin" {
			line += " " + fields[i+1].(string)
		}
	}
	l.all = append(l.all, line)
}

func (l *lineLogger) Info(message string, fields ...any)  { l.add("info", message, fields) }
func (l *lineLogger) Warn(message string, fields ...any)  { l.add("warn", message, fields) }
func (l *lineLogger) Error(message string, fields ...any) { l.add("error", message, fields) }
