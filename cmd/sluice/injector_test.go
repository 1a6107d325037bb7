package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInjectorOptions lists the forms in which options of the section injector may be given.
func TestInjectorOptions(t *testing.T) {
	got := injectorOptions([]string{
		"--config", "/etc/inject", "-address=:1", "--injector.onError", "deny", "--events=false", "--nativeSidecars",
		"--enforce.labels.app=web", "--tls.certFile=a", "--log.level", "DEBUG", "-c", "sluice.yaml", "--Enforce",
	})
	want := []string{
		"--injector.config=/etc/inject", "--injector.address=:1", "--injector.onError=deny", "--injector.events=false",
		"--injector.nativeSidecars", "--injector.enforce.labels.app=web", "--injector.tls.certFile=a", "--log.level", "DEBUG",
		"-c", "sluice.yaml", "--injector.Enforce",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestInjectorNeedsAConfiguration wants the finding and the exit code of a wrong configuration.
func TestInjectorNeedsAConfiguration(t *testing.T) {
	for _, args := range [][]string{{"injector"}, {"injector", "--config=a", "--configMap=b"}, {"injector", "word"}} {
		var stdout, stderr bytes.Buffer
		if code := run(args, nil, &stdout, &stderr); code == exitFine || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, %q", args, code, stderr.String())
		}
	}
}
