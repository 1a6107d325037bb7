package otlp

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheVersionOfTheService(t *testing.T) {
	for built, want := range map[string]map[string]string{
		"v1.2.3": {"service.version": "v1.2.3"}, "(devel)": {}, "": {},
	} {
		got := map[string]string{}
		for _, one := range version(&debug.BuildInfo{Main: debug.Module{Version: built}}) {
			got[string(one.Key)] = one.Value.AsString()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("built as %q: %s", built, diff)
		}
	}
}
