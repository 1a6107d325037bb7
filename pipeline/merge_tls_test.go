package pipeline_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
)

// TestMergeKeepsTLSOptionsThatNameEntryPoints keeps them in the place of a name of their own, quarantined, where they
// are refused or another provider's ones are elected.
func TestMergeKeepsTLSOptionsThatNameEntryPoints(t *testing.T) {
	declare := func(entryPoints ...string) *dynamic.Configuration {
		one := &dynamic.TLSOptions{EntryPoints: entryPoints}
		return &dynamic.Configuration{TLS: &dynamic.TLSConfiguration{
			Options: immutable.Of(map[string]*dynamic.TLSOptions{"default": one, "a@b": one}),
		}}
	}
	m := pipeline.NewMerger([]string{"docker", "file"})
	configurations := map[string]*dynamic.Configuration{"docker": declare(), "file": declare("inner")}
	for _, step := range []struct {
		file *dynamic.Configuration
		want []string
	}{
		{declare("inner"), []string{"a@b@file", "default", "default@file"}},
		{declare(), []string{"default"}},
		{declare("inner"), []string{"a@b@file", "default", "default@file"}},
		{&dynamic.Configuration{}, []string{"default"}},
	} {
		configurations["file"] = step.file
		merged, _ := m.Merge(configurations, []string{"docker", "file"})
		if diff := cmp.Diff(step.want, slices.Sorted(merged.TLS.Options.Keys())); diff != "" {
			t.Errorf("options (-want +got):\n%s", diff)
		}
		for name := range merged.TLS.Options.Keys() {
			refused := slices.ContainsFunc(merged.Verdicts, func(verdict dynamic.Verdict) bool {
				return verdict.Ref == dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name}
			})
			if refused == (name == "default") {
				t.Errorf("options %s: refused %v", name, refused)
			}
		}
	}
}
