package middleware

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestBadDefinitions has a router for each definition that can't work: check names the object, its place and the
// reason, the router answers 503, and others go on.
func TestBadDefinitions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "bad", "definitions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	names := definitions(string(text))
	var routers strings.Builder
	routers.WriteString("http:\n  routers:\n    fine: {rule: Host(`fine.test`), service: fine}\n")
	for _, name := range names {
		fmt.Fprintf(&routers, "    on-%s: {rule: Host(`%s.test`), service: fine, middlewares: [%s]}\n", name, name, name)
	}
	endpoint := harness.StartBackend(t, "one", nil)
	s := harness.Start(t, harness.Setup{
		Static:  static,
		Dynamic: map[string]string{"definitions.yaml": string(text), "routers.yaml": routers.String()},
		Vars:    map[string]string{"ENDPOINT": endpoint.H1},
	})
	checked := harness.Run(t, s.Dir, nil, "check", "--configFile="+filepath.Join(s.Dir, "sluice.yaml"))
	if checked.Code != 1 {
		t.Errorf("check: exit code %d", checked.Code)
	}
	golden(t, "bad/check.golden", strings.NewReplacer(s.DynamicDir+"/", "", s.Dir, "${DIR}").Replace(checked.Stdout))
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "fine.test", nil)
	if got := get(t, client, "/"); got != http.StatusOK {
		t.Errorf("a router that has nothing to do with them: status %d", got)
	}
	for _, name := range names {
		request := client.Request(http.MethodGet, "/", nil)
		request.Host = name + ".test"
		if got := client.Send(request); got.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d, want 503", name, got.StatusCode)
		}
	}
	if got := endpoint.Seen(); got != 1 {
		t.Errorf("the endpoint got %d requests, want 1", got)
	}
}

// definitions returns the names of the middlewares of a file that has one on each line.
func definitions(text string) []string {
	var names []string
	for _, found := range regexp.MustCompile(`(?m)^    ([a-z-]+): \{`).FindAllStringSubmatch(text, -1) {
		if found[1] != "fine" {
			names = append(names, found[1])
		}
	}
	return names
}
