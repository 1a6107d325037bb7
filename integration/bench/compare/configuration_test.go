package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigurations renders the configuration of every contestant of every row.
func TestConfigurations(t *testing.T) {
	for _, row := range table() {
		for _, who := range row.contestants {
			work := job{
				Dir: "/bench", User: "nobody nogroup", Plain: 8001, Secure: 8002, Through: 8003,
				Descriptors: 1000, Connections: 500,
				Endpoints: []string{"127.0.0.1:1", "127.0.0.2:1"}, Hosts: []string{host}, Middlewares: row.middlewares,
				Calls:     row.endpoint == calling,
				LogLevel:  "ERROR",
				Collector: "127.0.0.1:4318", StreamModule: streamModule,
			}
			if who.change != nil {
				who.change(&work)
			}
			all := ""
			for _, name := range who.files() {
				text, err := rendered(name, work)
				if err != nil {
					t.Fatalf("%s of %s: %v", name, row.name, err)
				}
				all += string(text)
			}
			for part, want := range map[string]bool{
				"8001": true, "8002": true, "127.0.0.1:1": true, "127.0.0.2:1": true, work.Hosts[len(work.Hosts)-1]: true,
				":8003": who.relay, "udp": who.relay && who.program != "haproxy",
				streamModule: who.relay && who.program == "nginx", "splice-auto": work.Splice,
				"/outer":          row.middlewares,
				"h2c://":          row.endpoint == calling && (who.program == "sluice" || who.program == "caddy"),
				"grpc_pass":       row.endpoint == calling && who.program == "nginx",
				"proto h2":        row.endpoint == calling && who.program == "haproxy",
				"gzip_comp_level": work.GzipLevel > 0, "compress:": work.Encoding != "",
				"prometheus:": work.Seen == "metrics", "pushInterval:": work.Seen == "push",
				"/bench/access.log": work.Seen == "access log", "sampleRate:": work.Seen == "traces",
				"addRoutersLabels: true":      work.Seen == "metrics" || work.Seen == "push",
				"http://127.0.0.1:4318/small": work.Seen == "push" || work.Seen == "traces",
			} {
				if strings.Contains(all, part) != want {
					t.Errorf("%s, %s: %q is there: %v", row.name, who.name, part, !want)
				}
			}
		}
	}
}

func TestReplaceLeavesOneFile(t *testing.T) {
	folder := t.TempDir()
	for _, text := range []string{"first", "second"} {
		if err := replace(filepath.Join(folder, "x.yaml"), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "x.yaml")); err != nil || string(text) != "second" {
		t.Errorf("%q, %v", text, err)
	}
}
