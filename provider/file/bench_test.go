package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// BenchmarkOneChange reads a file with 10,000 routers and services again in which one router has changed.
func BenchmarkOneChange(b *testing.B) {
	text := func(changed int) []byte {
		var out strings.Builder
		out.WriteString("http:\n  routers:\n")
		for i := range 10_000 {
			fmt.Fprintf(&out, "    r%d:\n      rule: Host(`h%d.example`) && PathPrefix(`/%d`)\n      service: s%d\n", i, i,
				max(i, changed), i)
		}
		out.WriteString("  services:\n")
		for i := range 10_000 {
			fmt.Fprintf(&out, "    s%d:\n      loadBalancer:\n        servers:\n          - url: http://127.0.0.1:%d\n", i, i)
		}
		return []byte(out.String())
	}
	path := filepath.Join(b.TempDir(), "a.yaml")
	p, err := New(static.FileProvider{Filename: path}, telemetry.Discard{})
	if err != nil {
		b.Fatal(err)
	}
	texts := [][]byte{text(0), text(1)}
	i := 0
	for b.Loop() {
		b.StopTimer()
		if err := os.WriteFile(path, texts[i%2], 0o600); err != nil {
			b.Fatal(err)
		}
		i++
		b.StartTimer()
		if !p.scan(b.Context(), nil) {
			b.Fatal("the change was not seen")
		}
	}
}
