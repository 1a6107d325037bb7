package dynamic

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluiceproxy/sluice/document"
)

// FuzzDecode asserts that no document makes the decoder panic, that every object has its origin, that every finding
// lies within the text, and that decoding again gives the same pointers and the same findings.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/decode/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		switch filepath.Ext(file) {
		case ".yaml":
			f.Add(false, data)
		case ".toml":
			f.Add(true, data)
		}
	}
	f.Fuzz(func(t *testing.T, toml bool, data []byte) {
		name := "x.yaml"
		if toml {
			name = "x.toml"
		}
		root, err := document.ParseWithDuplicates(name, data)
		if err != nil {
			return
		}
		var d Decoder
		first := d.Decode(name, root, false)
		checkOrigins(t, first, len(data)+1)
		second := d.Decode(name, root, false)
		if len(first.Verdicts) != len(second.Verdicts) {
			t.Fatalf("findings differ: %v and %v", first.Verdicts, second.Verdicts)
		}
		if first.HTTP != nil {
			for name, router := range first.HTTP.Routers.All() {
				if second.HTTP.Routers.Get(name) != router {
					t.Fatalf("router %q has another pointer", name)
				}
			}
		}
	})
}

func checkOrigins(t *testing.T, c *Configuration, lines int) {
	t.Helper()
	for ref, origin := range c.Origins.All() {
		if origin.Line < 1 || origin.Line > lines {
			t.Fatalf("%v has the origin %v", ref, origin)
		}
	}
	for _, verdict := range c.Verdicts {
		if verdict.Origin.Line < 1 || verdict.Origin.Line > lines || verdict.Reason == "" || verdict.Status != Quarantined {
			t.Fatalf("verdict %#v", verdict)
		}
	}
	if c.HTTP == nil {
		return
	}
	for name, router := range c.HTTP.Routers.All() {
		if _, ok := c.Origins.Find(Ref{Kind: KindRouter, Name: name}); !ok || router == nil {
			t.Fatalf("router %q has no origin", name)
		}
	}
}
