package registration_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/inject/registration"
)

// TestIdentity wants names that differ for pods of one host, and for processes without a pod.
func TestIdentity(t *testing.T) {
	process := fmt.Sprintf("-%d", os.Getpid())
	for _, test := range []struct{ pod, uid, want string }{
		{"web.0", "0A-b", "web-0-0a-b"},
		{"", "0a", "0a"},
		{"web-0", "", "web-0" + process},
		{strings.Repeat("a", 253), "0a", strings.Repeat("a", 128) + "-0a"},
	} {
		t.Setenv("POD_NAME", test.pod)
		t.Setenv("POD_UID", test.uid)
		if got, err := registration.Identity(); err != nil || got != test.want {
			t.Errorf("%q %q: %q, %v", test.pod, test.uid, got, err)
		}
	}
	t.Setenv("POD_NAME", "")
	t.Setenv("POD_UID", "")
	if got, err := registration.Identity(); err != nil || !strings.HasSuffix(got, process) || len(got) == len(process) {
		t.Errorf("without a pod: %q, %v", got, err)
	}
}
