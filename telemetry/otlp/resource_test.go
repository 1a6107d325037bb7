package otlp_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

func TestAResourceNamesTheSender(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "zone=b")
	got := map[string]string{}
	for _, one := range otlp.Resource("edge", map[string]string{
		"zone": "a", "team": "net",
		"service.version": "1.2",
	}).Attributes() {
		got[string(one.Key)] = one.Value.String()
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"service.name": "edge", "service.version": "1.2", "team": "net", "zone": "b", "host.name": host,
		"telemetry.sdk.language": "go",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	for key := range got {
		if strings.HasPrefix(key, "process.command") {
			t.Errorf("%s has the command line, which may hold secrets", key)
		}
	}
}
