package log

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/static"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logged returns what is written to a log with the given configuration.
func logged(t *testing.T, config static.Log, write func(logs *Log)) string {
	t.Helper()
	var out bytes.Buffer
	logs, err := New(config, Options{Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	write(logs)
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestLevelsOfSubsystems(t *testing.T) {
	text := logged(t, static.Log{Level: "warn", Format: "json", Levels: map[string]string{
		"provider": "debug", "provider.docker": "ERROR", "PIPELINE": "info", "api": "panic",
	}}, func(logs *Log) {
		for _, name := range []string{
			SubsystemMain, SubsystemProvider, SubsystemFile, SubsystemDocker, SubsystemPipeline,
			SubsystemAPI,
		} {
			log := logs.For(name)
			log.Debug("debug")
			log.Info("info")
			log.Warn("warning")
			log.Error("error")
		}
	})
	got := map[string][]string{}
	for line := range strings.Lines(text) {
		var fields struct{ Subsystem, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields.Level != fields.Msg {
			t.Errorf("%s is written as %s", fields.Msg, fields.Level)
		}
		got[fields.Subsystem] = append(got[fields.Subsystem], fields.Level)
	}
	want := map[string][]string{
		"main": {"warning", "error"}, "provider": {"debug", "info", "warning", "error"},
		"provider.file":   {"debug", "info", "warning", "error"},
		"provider.docker": {"error"}, "pipeline": {"info", "warning", "error"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheLogNamesTheOptionThatIsWrong(t *testing.T) {
	for want, config := range map[string]static.Log{
		`log.level "loud"`: {Level: "loud"},
		`log.format "xml"`: {Format: "xml"},
		`log.levels.piepline: no such subsystem; there are main, entrypoint,`: {Levels: map[string]string{"piepline": "debug"}},
		`log.levels.pipeline "loud"`:                                          {Levels: map[string]string{"pipeline": "loud"}},
		`log.filePath: open `: {FilePath: filepath.Join(t.TempDir(),
			"missing", "log")},
	} {
		if _, err := New(config, Options{Output: io.Discard}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestValuesOfEveryKindAreWritten(t *testing.T) {
	text := logged(t, static.Log{Format: "json"}, func(logs *Log) {
		logs.For(SubsystemMain).Info("values", "text", "a\nb\"", "error", errors.New("no"), "wait", 3*time.Second, "count", 7,
			"big", uint64(1<<63),
			"nan", nan(), "list", []string{"a", "b"}, "channel", make(chan int), "invalid", "a\xffb", "nil", nil, "odd")
	})
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for key, want := range map[string]any{
		"text": "a\nb\"", "error": "no", "wait": "3s", "count": 7.0, "big": float64(1 << 63), "nan": "NaN", "list": "[a b]",
		"invalid":   "a\uFFFDb",
		"subsystem": "main", "msg": "values", "level": "info", "nil": nil,
	} {
		if diff := cmp.Diff(want, fields[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, fields["time"].(string)); err != nil {
		t.Error(err)
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

func TestNoValueEndsALineOfTheLog(t *testing.T) {
	const evil = "a\r\nlevel=error msg=\"forged\"\x1b[2J\u2028\xff"
	for _, format := range []string{static.FormatCommon, static.FormatJSON} {
		text := logged(t, static.Log{Format: format}, func(logs *Log) {
			logs.For(SubsystemMain).Warn(evil, "path", evil, "error", errors.New(evil))
		})
		if strings.Count(text, "\n") != 1 || strings.ContainsAny(text, "\r\x1b\u2028") || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s: %q", format, text)
		}
	}
}

// On a terminal logrus writes messages as they are.
func TestNoValueMovesTheCursorOfATerminal(t *testing.T) {
	const evil = "a\r\nb\x1b[2J\u2028\xff"
	text := logged(t, static.Log{}, func(logs *Log) {
		logs.logger.SetFormatter(&logrus.TextFormatter{ForceColors: true})
		logs.For(SubsystemMain).Warn(evil, "path", evil)
	})
	if strings.Count(text, "\n") != 1 || strings.ContainsAny(text, "\r\u2028") || strings.Contains(text, "\x1b[2J") ||
		!strings.Contains(text, "a\\r\\nb") {
		t.Errorf("%q", text)
	}
}

// stuck is a reader that stands still until it is let go.
type stuck struct {
	bytes.Buffer

	begun, released chan struct{}
}

func (s *stuck) Write(text []byte) (int, error) {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	<-s.released
	return s.Buffer.Write(text)
}

func TestAStuckReaderDoesNotBlockLogging(t *testing.T) {
	out := &stuck{begun: make(chan struct{}, 1), released: make(chan struct{})}
	logs, err := New(static.Log{Format: "json"}, Options{Output: out})
	if err != nil {
		t.Fatal(err)
	}
	log := logs.For(SubsystemMain)
	log.Info("first")
	<-out.begun
	filler := strings.Repeat("x", 64<<10)
	for range 10 {
		log.Info(filler)
	}
	dropped := logs.Dropped()
	if dropped == 0 || dropped >= 10 {
		t.Errorf("%d of 10 lines dropped", dropped)
	}
	close(out.released)
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	var lines, tells int
	scanner := bufio.NewScanner(&out.Buffer)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var line struct {
			Msg   string
			Count uint64
		}
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Count == dropped {
			tells++
		} else {
			lines++
		}
	}
	if want := 11 - int(dropped); lines != want || tells != 1 { //nolint:gosec // At most ten are dropped.
		t.Errorf("%d lines and %d that tell of the others, want %d and 1", lines, tells, want)
	}
	log.Info("too late")
	if logs.Dropped() != dropped+1 {
		t.Error("what is logged after the end is not counted")
	}
}

// full is a disk that is full for some time: it takes a part of the first write and nothing of the second.
type full struct {
	bytes.Buffer

	writes chan int
	count  int
}

func (f *full) Write(text []byte) (int, error) {
	f.count++
	defer func() { f.writes <- f.count }()
	switch f.count {
	case 1:
		n, _ := f.Buffer.Write(text[:len(text)/2])
		return n, errors.New("no space left on device")
	case 2:
		return 0, errors.New("no space left on device")
	}
	return f.Buffer.Write(text)
}

func TestAFullDiskLosesLinesAndNothingElse(t *testing.T) {
	disk := &full{writes: make(chan int, 16)}
	logs, err := New(static.Log{Format: "json"}, Options{Output: disk})
	if err != nil {
		t.Fatal(err)
	}
	log := logs.For(SubsystemMain)
	for _, message := range []string{"torn", "lost"} {
		log.Info(message)
		<-disk.writes
	}
	log.Info("kept")
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(disk.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], "kept") || !strings.Contains(lines[2], `"count":2`) ||
		logs.Dropped() != 2 {
		t.Errorf("%d dropped, lines %q", logs.Dropped(), lines)
	}
}

func TestTheFileOfTheLogMayBeMovedAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluice.log")
	logs, err := New(static.Log{Format: "json", FilePath: path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := logs.For(SubsystemMain)
	log.Info("before")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := logs.Reopen(); err != nil {
		t.Fatal(err)
	}
	log.Info("after")
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path + ".1")
	after, _ := os.ReadFile(path)
	all := string(before) + string(after)
	if !strings.Contains(all, `"before"`) || !strings.Contains(string(after), `"after"`) {
		t.Errorf("moved away: %q; new: %q", before, after)
	}
}
