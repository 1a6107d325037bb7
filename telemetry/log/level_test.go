package log_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/log"
)

// started returns a log with levels for providers, and what reads it once it is closed.
func started(t *testing.T) (logs *log.Log, closed func() string) {
	t.Helper()
	var out strings.Builder
	logs, err := log.New(static.Log{Level: "WARN", Levels: map[string]string{"provider.docker": "ERROR"}},
		log.Options{Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	return logs, func() string {
		if err := logs.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
}

// changed returns the levels that are not the configured ones, by subsystem.
func changed(logs *log.Log) map[string]string {
	levels := map[string]string{}
	for _, one := range logs.Levels() {
		if one.Level != one.Configured {
			levels[one.Subsystem] = one.Level
		}
	}
	return levels
}

// TestSetLevel sets the levels of subsystems one after another: the last call counts.
func TestSetLevel(t *testing.T) {
	logs, closed := started(t)
	docker, kept := logs.For(log.SubsystemDocker), logs.For(log.SubsystemPipeline)
	providers := map[string]string{
		"provider": "DEBUG", "provider.file": "DEBUG", "provider.docker": "DEBUG", "provider.kubernetes": "DEBUG",
		"provider.dns": "DEBUG", "provider.xds": "DEBUG",
	}
	withDocker := maps.Clone(providers)
	withDocker["provider.docker"] = "INFO"
	withoutDocker := maps.Clone(providers)
	delete(withoutDocker, "provider.docker")
	for _, step := range []struct {
		subsystem, level string
		want             map[string]string
		err              string
	}{
		{"Provider", "debug", providers, ""},
		{"provider.docker", "INFO", withDocker, ""},
		{"provider.docker", "Configured", withoutDocker, ""},
		{"provider", "DEBUG", providers, ""},
		{"providers", "DEBUG", providers, `subsystem "providers" does not exist; there are main, entrypoint`},
		{"xds", "LOUD", providers, `log level "LOUD": not one of DEBUG`},
		{"xds", "", providers, `log level "": not one of DEBUG`},
		{"", "configured", map[string]string{}, ""},
		{"xds", "ERROR", map[string]string{"xds": "ERROR"}, ""},
	} {
		err := logs.SetLevel(step.subsystem, step.level, 0)
		if (err != nil) != (step.err != "") || err != nil && !strings.HasPrefix(err.Error(), step.err) {
			t.Errorf("%s %s: error %v, want %q", step.subsystem, step.level, err, step.err)
		}
		if diff := cmp.Diff(step.want, changed(logs)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", step.subsystem, step.level, diff)
		}
		docker.Debug("line of " + step.level)
		kept.Info("line of the pipeline")
	}
	if err := logs.SetLevel("", "INFO", -time.Second); err == nil {
		t.Error("a time below 0 is accepted")
	}
	if err := logs.SetLevel("", log.LevelConfigured, time.Second); err == nil {
		t.Error("the configured level is accepted for a time")
	}
	lines := strings.Split(strings.TrimSpace(closed()), "\n")
	count := func(text string) (n int) {
		for _, line := range lines {
			if strings.Contains(line, text) {
				n++
			}
		}
		return n
	}
	if got := []int{count("line of debug"), count("line of DEBUG"), count("line of"), len(lines)}; !slices.Equal(got,
		[]int{1, 2, 5, 5}) {
		t.Errorf("numbers of lines %v:\n%s", got, strings.Join(lines, "\n"))
	}
}

// TestLevelsExpire gives subsystems back their levels in time, but for those that got another one meanwhile.
func TestLevelsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs, closed := started(t)
		set := func(subsystem, level string, lasting time.Duration) {
			t.Helper()
			if err := logs.SetLevel(subsystem, level, lasting); err != nil {
				t.Fatal(err)
			}
		}
		pass := func(d time.Duration) {
			timer := time.NewTimer(d)
			<-timer.C
			synctest.Wait()
		}
		begun := time.Now()
		set("main", "INFO", 0)
		set("xds", "DEBUG", time.Minute)
		set("api", "DEBUG", time.Minute)
		set("api", "ERROR", 2*time.Minute)
		for _, one := range logs.Levels() {
			if one.Subsystem == "api" && !one.Until.Equal(begun.Add(2*time.Minute)) {
				t.Errorf("api lasts until %v", one.Until)
			}
		}
		pass(time.Minute - time.Second)
		if diff := cmp.Diff(map[string]string{"main": "INFO", "xds": "DEBUG", "api": "ERROR"}, changed(logs)); diff != "" {
			t.Errorf("before (-want +got):\n%s", diff)
		}
		pass(2 * time.Second)
		if diff := cmp.Diff(map[string]string{"main": "INFO", "api": "ERROR"}, changed(logs)); diff != "" {
			t.Errorf("after a minute (-want +got):\n%s", diff)
		}
		pass(time.Minute)
		if diff := cmp.Diff(map[string]string{"main": "INFO"}, changed(logs)); diff != "" {
			t.Errorf("after two minutes (-want +got):\n%s", diff)
		}
		set("", "DEBUG", time.Hour) // Closing ends its timer.
		text := closed()
		for _, target := range []string{"target=xds", "target=api"} {
			if line := `msg="the level of the log is as configured again" subsystem=main ` + target; strings.Count(text, line) != 1 {
				t.Errorf("there is not one line with %s:\n%s", line, text)
			}
		}
	})
}

// TestLevelsAreSetWhileLinesAreWritten is for the race detector.
func TestLevelsAreSetWhileLinesAreWritten(t *testing.T) {
	logs, closed := started(t)
	var work sync.WaitGroup
	for _, level := range []string{"debug", "error"} {
		work.Go(func() {
			for range 100 {
				_ = logs.SetLevel("provider", level, time.Millisecond)
				logs.For(log.SubsystemFile).Info("line")
				logs.Levels()
			}
		})
	}
	work.Wait()
	closed()
}
