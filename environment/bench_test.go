package environment_test

import (
	"fmt"
	"net/http"
	"testing"
)

// BenchmarkSelect selects among a thousand tags of four levels, by a tag that exists and by one whose ancestor of the
// first level answers.
func BenchmarkSelect(b *testing.B) {
	tags := []string{"dev"}
	for i := range 1000 {
		tags = append(tags, fmt.Sprintf("dev.team%d.project%d.feature%d", i%10, i%100, i))
	}
	s := selector(b, options(tags...))
	for _, tag := range []string{"dev.team3.project53.feature753", "dev.team3.project53.unknown"} {
		b.Run(tag, func(b *testing.B) {
			header := http.Header{"X-Virtual-Env": {tag}}
			b.ReportAllocs()
			for b.Loop() {
				s.Select(s.Tag(header).Value, all{})
			}
		})
	}
}
