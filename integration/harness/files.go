package harness

import (
	"os"
	"path/filepath"
)

// Write replaces a dynamic file by a rename, as editors and deployments do.
func (s *Sluice) Write(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.DynamicDir, name)
	draft := filepath.Join(s.Dir, "draft-"+filepath.Base(name))
	if err := os.WriteFile(draft, []byte(s.Expand(text)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(draft, file); err != nil {
		s.t.Fatal(err)
	}
}

// Overwrite writes a dynamic file in place, so that a reader may find it empty or partly written.
func (s *Sluice) Overwrite(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.DynamicDir, name), []byte(s.Expand(text)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Expand replaces ${DIR}, ${DYNAMIC} and the Vars of the Setup in a text.
func (s *Sluice) Expand(text string) string { return s.vars.Replace(text) }
