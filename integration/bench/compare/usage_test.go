package main

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// captured returns a file that was read, or printed by a program, when a real comparison ran.
func captured(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSchedstat(t *testing.T) {
	got, err := schedstat(captured(t, "schedstat.txt"))
	if want := 7388039 * time.Nanosecond; err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, text := range []string{"", "12", "x 1 2"} {
		if got, err := schedstat(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestParents(t *testing.T) {
	tests := []struct {
		text        string
		pid, parent int
		fails       bool
	}{
		{text: "5894 (nginx) S 5873 5873 27594 0", pid: 5894, parent: 5873},
		{text: "7 (a) R 1 (b)) S 3 3", pid: 7, parent: 3},
		{text: "7 nginx S 3", fails: true},
		{text: "7 (nginx) S", fails: true},
	}
	for _, test := range tests {
		pid, parent, err := parents(test.text)
		if (err != nil) != test.fails || !test.fails && (pid != test.pid || parent != test.parent) {
			t.Errorf("%q: %d below %d, %v", test.text, pid, parent, err)
		}
	}
	if _, parent, err := parents(captured(t, "process.txt")); err != nil || parent < 1 {
		t.Errorf("a captured one: below %d, %v", parent, err)
	}
}

// TestOwnUsage reads what this process has used, and expects it to grow.
func TestOwnUsage(t *testing.T) {
	before, err := observe(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 30*time.Millisecond; {
	}
	after, err := observe(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if after.cpu <= before.cpu || after.resident < 1000 || len(after.cores) == 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestCoreTicks(t *testing.T) {
	got, err := coreTicks([]byte(captured(t, "stat.txt")))
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]ticks{
		0: {busy: 388617 + 40745 + 131102 + 28899 + 961, total: 388617 + 40745 + 131102 + 619110 + 1000 + 28899 + 961},
		1: {busy: 369019 + 39029 + 148682 + 22061 + 1091, total: 369019 + 39029 + 148682 + 622216 + 4224 + 22061 + 1091},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(ticks{})); diff != "" {
		t.Error(diff)
	}
	if busy := share(ticks{busy: 10, total: 100}, ticks{busy: 40, total: 140}); busy != 0.75 {
		t.Errorf("busy for %v of the time", busy)
	}
}
