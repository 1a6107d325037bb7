package dynamic

import (
	"fmt"
	"strings"
	"testing"
)

// TestLabelsWithoutMeasure bounds the time and the findings of the decoder by the
// number and the length of labels.
func TestLabelsWithoutMeasure(t *testing.T) {
	many, mistakes := map[string]string{}, map[string]string{}
	for i := range 200_000 {
		many[fmt.Sprintf("traefik.http.routers.r%d.rule", i)] = "Host(`a`)"
	}
	for i := range 1500 {
		mistakes[fmt.Sprintf("traefik.http.sections%d.x", i)] = ""
	}
	long := strings.Repeat("x", 1<<20)
	tests := []struct {
		name   string
		labels map[string]string
		want   string
	}{
		{"many", many, "there are 200000 labels, and no more than 2000 are read"},
		{
			"deep",
			map[string]string{"traefik.http.middlewares.m." + strings.Repeat("a.", 10_000_000) + "b": "1"},
			"longer than 1024 bytes",
		},
		{
			"many keys",
			map[string]string{"traefik.http.middlewares.m." + strings.Repeat("a.", 64) + "b": "1"},
			"more than 64 keys",
		},
		{
			"long value",
			map[string]string{"traefik.http.middlewares.m.basicauth.removeheader": long},
			"expected true or false",
		},
		{"long option", map[string]string{"traefik.enable": long}, "expected true or false"},
		{"mistakes", mistakes, "unknown option"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var d LabelDecoder
			got := d.Decode(test.labels)
			said := strings.Join(got.Wrong, "\n")
			for _, verdict := range got.Configuration.Verdicts {
				said += "\n" + verdict.Reason
			}
			if !strings.Contains(said, test.want) {
				t.Errorf("said %.1000s, want %q", said, test.want)
			}
			if len(said) > 64<<10 {
				t.Errorf("%d bytes are said", len(said))
			}
		})
	}
}
