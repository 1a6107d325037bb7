package main

import (
	"slices"
	"testing"
)

// TestOptionsReplacePresets gives an option of the sidecar anew, in another spelling.
func TestOptionsReplacePresets(t *testing.T) {
	presets := []string{"--entryPoints.proxy.address=127.0.0.1:15001", "--log.level=WARN"}
	for _, args := range [][]string{
		{"--entrypoints.proxy.address=127.0.0.1:1"},
		{"--entryPoints.Proxy.address", "127.0.0.1:1"},
	} {
		want := append([]string{"--log.level=WARN"}, args...)
		if got := withPresets(args, presets); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}
