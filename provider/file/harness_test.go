package file

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = time.Minute

// harness runs a provider on a directory of its own.
type harness struct {
	t        *testing.T
	dir      string
	provider *Provider
	messages chan dynamic.Message
	cancel   context.CancelFunc
	done     chan error
}

func run(t *testing.T, dir string, config static.FileProvider, options ...Option) *harness {
	t.Helper()
	options = append([]Option{WithSettle(20 * time.Millisecond)}, options...)
	p, err := New(config, telemetry.Discard{}, options...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	h := &harness{
		t: t, dir: dir, provider: p, messages: make(chan dynamic.Message), cancel: cancel, done: make(chan error, 1),
	}
	go func() { h.done <- p.Provide(ctx, h.messages) }()
	t.Cleanup(func() {
		cancel()
		if err := <-h.done; err != nil {
			t.Errorf("Provide returned %v", err)
		}
	})
	return h
}

// inDirectory runs a provider on a directory with files, given as name and text in turns.
func inDirectory(t *testing.T, files ...string) *harness {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		write(t, filepath.Join(dir, files[i]), files[i+1])
	}
	return run(t, dir, static.FileProvider{Directory: dir, Watch: true})
}

func (h *harness) path(name string) string { return filepath.Join(h.dir, name) }

func (h *harness) next() dynamic.Message {
	h.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case m := <-h.messages:
		return m
	case <-timer.C:
		h.t.Fatal("no message has come")
		return dynamic.Message{}
	}
}

// until returns the first message that shows something.
func (h *harness) until(what string, shows func(dynamic.Message) bool) dynamic.Message {
	h.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	var last dynamic.Message
	for {
		select {
		case last = <-h.messages:
			if shows(last) {
				return last
			}
		case <-deadline.C:
			h.t.Fatalf("no message shows %s; the last one has %s and %v", what, rules(last), verdicts(last))
		}
	}
}

func (h *harness) untilRules(want string) dynamic.Message {
	h.t.Helper()
	return h.until("the rules "+want, func(m dynamic.Message) bool { return rules(m) == want })
}

func (h *harness) untilVerdict(part string) dynamic.Message {
	h.t.Helper()
	return h.until("the verdict "+part, func(m dynamic.Message) bool {
		return strings.Contains(strings.Join(verdicts(m), "\n"), part)
	})
}

// rules prints the routers with their rules: a=1 b=2.
func rules(m dynamic.Message) string {
	if m.Configuration == nil || m.Configuration.HTTP == nil {
		return ""
	}
	var out []string
	for name, router := range m.Configuration.HTTP.Routers.All() {
		out = append(out, name+"="+router.Rule)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func verdicts(m dynamic.Message) []string {
	var out []string
	if m.Configuration != nil {
		for _, verdict := range m.Configuration.Verdicts {
			out = append(out, verdict.String())
		}
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace saves a file as editors do: a new one is moved over the old one.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+"~", text)
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// router is a file with one router.
func router(name, rule string) string {
	return fmt.Sprintf("http:\n  routers:\n    %s: {rule: %q, service: s}\n", name, rule)
}
