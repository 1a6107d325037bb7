package conformance

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// apiModule is the module with the Gateway API's CustomResourceDefinitions.
const apiModule = "sigs.k8s.io/gateway-api"

// Flags beyond those of the conformance tests, of which run-test, skip-tests, debug and others can be given as well.
var (
	channel = flag.String("channel", "experimental", "channel of the CRDs, `experimental or standard`")
	reports = flag.String("reports", "", "`DIRECTORY` in which the report is written")
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m))
}

// definitions returns the CRDs of the channel, out of the module cache.
func definitions(t *testing.T) []string {
	t.Helper()
	if *channel != "experimental" && *channel != "standard" {
		t.Fatalf("channel %q is neither experimental nor standard", *channel)
	}
	output, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", apiModule).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", apiModule, err)
	}
	pattern := filepath.Join(strings.TrimSpace(string(output)), "config", "crd", *channel, "gateway.networking*.yaml")
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	var texts []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}
