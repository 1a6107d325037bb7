package operations

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// entry is a line of the log as JSON.
type entry struct {
	Subsystem, Level, Msg, Code, Router, Time string

	Count   int
	Address string
}

// entries reads a log. A line that is none fails the test.
func entries(t *testing.T, text string) []entry {
	t.Helper()
	var all []entry
	for line := range strings.Lines(text) {
		var one entry
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if one.Subsystem == "" || one.Level == "" || one.Msg == "" || one.Time == "" {
			t.Errorf("a line says too little: %s", line)
		}
		all = append(all, one)
	}
	return all
}

const loggingStatic = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
log: {format: json, level: WARN, levels: {main: INFO, entrypoint: DEBUG, provider: INFO, requests: DEBUG}}
providers:
  file: {directory: "${DYNAMIC}", watch: true}
`

const loggingDynamic = `
http:
  routers:
    gone: {rule: "Host(` + "`gone.test`" + `)", service: gone, entryPoints: [web]}
  services:
    gone: {loadBalancer: {servers: [{url: "http://127.0.0.1:1"}]}}
`

// TestAFailingServiceCostsFewLines sends many requests to a service that is down.
func TestAFailingServiceCostsFewLines(t *testing.T) {
	s := harness.Start(t, harness.Setup{Static: loggingStatic, Dynamic: map[string]string{"gone.yaml": loggingDynamic}})
	gone := harness.NewClient(t, harness.H1, s.Addr("web"), "gone.test", nil)
	lost := harness.NewClient(t, harness.H1, s.Addr("web"), "lost.test", nil)
	const requests = 50
	codes := map[int]int{}
	for range requests {
		codes[gone.Get("/").StatusCode]++
		codes[lost.Get("/").StatusCode]++
	}
	s.Stop()
	told := map[string]int{}
	lines := 0
	for _, one := range entries(t, s.Log.String()) {
		switch {
		case one.Subsystem == "requests":
			lines++
			told[one.Code] += max(one.Count, 1)
		case one.Level != "warning" && one.Level != "error" && one.Subsystem != "main" && one.Subsystem != "entrypoint" &&
			!strings.HasPrefix(one.Subsystem, "provider"):
			t.Errorf("%s writes a line of level %s", one.Subsystem, one.Level)
		}
	}
	failed := 0
	for code, count := range told {
		if code != "no_router" {
			failed += count
		}
	}
	// Readiness probes before the first table have found no router either.
	if told["no_router"] < requests || failed != requests || codes[http.StatusNotFound] != requests || lines > 10 {
		t.Errorf("%d lines tell of %v; answered: %v", lines, told, codes)
	}
}

// TestLogFilesMayBeMovedAway moves both logs of a Sluice away and sends SIGUSR1.
func TestLogFilesMayBeMovedAway(t *testing.T) {
	s := harness.Start(t, harness.Setup{Static: loggingStatic + `
accessLog: {format: json, filePath: "${DIR}/access.log"}
`, Args: []string{"--log.level=INFO", "--log.filePath=${DIR}/sluice.log"}, NotReady: true})
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(s.Dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(text)
	}
	listening := regexp.MustCompile(`"address":"([^"]+)","entrypoint":"web"`)
	var address []string
	harness.Until(t, "the log has the address", func() bool {
		address = listening.FindStringSubmatch(read("sluice.log"))
		return address != nil
	})
	client := harness.NewClient(t, harness.H1, address[1], "lost.test", nil)
	ask := func(name, path string) {
		client.Get(path)
		harness.Until(t, path+" is in "+name, func() bool { return strings.Contains(read(name), `"`+path+`"`) })
	}
	ask("access.log", "/one")
	for _, name := range []string{"sluice.log", "access.log"} {
		if err := os.Rename(filepath.Join(s.Dir, name), filepath.Join(s.Dir, name+".1")); err != nil {
			t.Fatal(err)
		}
	}
	s.Signal(syscall.SIGUSR1)
	harness.Until(t, "the log goes on", func() bool { return strings.Contains(read("sluice.log"), "SIGUSR1") })
	ask("access.log", "/two")
	if !strings.Contains(read("access.log.1"), `"/one"`) || strings.Contains(read("access.log"), `"/one"`) {
		t.Error("the access log that was moved away has changed")
	}
	s.Stop()
	if entries := entries(t, read("sluice.log")); len(entries) < 2 || entries[len(entries)-1].Msg != "stopped" {
		t.Errorf("the log does not end with the end: %v", entries)
	}
}

// TestTheLogIsNotRead starts Sluice with a standard error whose reader has gone away.
func TestTheLogIsNotRead(t *testing.T) {
	for name, reads := range map[string]bool{"gone at once": false, "gone after a line": true} {
		t.Run(name, func(t *testing.T) {
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = reader.Close() }()
			port := harness.FreeAddress(t)
			command := exec.CommandContext(t.Context(), harness.Binary(t), "--entryPoints.traefik.address="+port, "--ping",
				"--accessLog", "--accessLog.addInternals")
			command.Stdout, command.Stderr = writer, writer
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			_ = writer.Close()
			if reads {
				if _, err := bufio.NewReader(reader).ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			_ = reader.Close()
			client := harness.NewClient(t, harness.H1, port, "localhost", nil)
			client.Transport.DisableKeepAlives = true
			harness.Until(t, "it listens", func() bool {
				answer, err := client.Try(client.Request(http.MethodGet, "/ping", nil))
				return err == nil && answer.StatusCode == http.StatusOK
			})
			for range 100 {
				if answer := client.Get("/ping"); answer.StatusCode != http.StatusOK {
					t.Fatalf("/ping: status %d", answer.StatusCode)
				}
			}
			if err := command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); err != nil {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}
