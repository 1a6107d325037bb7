package pages

import (
	"os"
	"path"
	"testing"
	"time"
)

// TestPages runs every page that has commands.
func TestPages(t *testing.T) {
	for name, page := range runnable(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runPage(t, newShell(t), name, page)
		})
	}
}

func runPage(t *testing.T, s *shell, name string, page []block) {
	t.Helper()
	for i, one := range page {
		var answer *block
		if i+1 < len(page) && page[i+1].is("text", "answer") {
			answer = &page[i+1]
		}
		switch {
		case one.file() != "":
			s.write(t, one.file(), one.body)
			if one.info[1] == "dynamic" {
				checks(t, s, name, one)
			}
		case one.is("sh", "start"):
			if output := s.start(t, one.body); answer != nil {
				appears(t, name, *answer, func() string { return read(t, output) })
			}
		case one.is("sh", "await"):
			if answer == nil {
				t.Fatalf("%s:%d: no answer follows", name, one.line)
			}
			appears(t, name, *answer, func() string { return s.run(t, one.body).output })
		case one.command():
			done := s.run(t, one.body)
			if failed := done.code != 0; failed != one.is("sh", "fails") {
				t.Fatalf("%s:%d: exit code %d\n%s", name, one.line, done.code, done.output)
			}
			if answer != nil && !matches(answer.body, done.output) {
				t.Fatalf("%s:%d: the answer is\n%s", name, answer.line, done.output)
			}
		}
	}
}

// checks demands that a dynamic file is valid, together with the others in its folder.
func checks(t *testing.T, s *shell, name string, one block) {
	t.Helper()
	folder := path.Dir(one.file())
	if done := s.run(t, `sluice check --configFile="$checking" --providers.file.directory=`+folder); done.code != 0 {
		t.Fatalf("%s:%d: sluice check says\n%s", name, one.line, done.output)
	}
}

// appears waits until an output matches the answer.
func appears(t *testing.T, name string, answer block, output func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		last := output()
		if matches(answer.body, last) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s:%d: after %s the answer still is\n%s", name, answer.line, patience, last)
		}
		<-ticker.C
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
