package log

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

// LevelConfigured is what SetLevel takes for the level of the configuration.
const LevelConfigured = "configured"

// SubsystemLevel is the level of a subsystem at present.
type SubsystemLevel struct {
	// Subsystem is its name.
	Subsystem string
	// Level is that of the lines that are written, and Configured the one of log.level and log.levels: DEBUG, INFO,
	// WARN, ERROR, FATAL, PANIC or TRACE.
	Level, Configured string
	// Until is when Level becomes Configured again; the zero value is never.
	Until time.Time
}

// subsystem is the level of a subsystem.
type subsystem struct {
	// level is the present logrus.Level.
	level      atomic.Uint32
	configured logrus.Level
	// set is what has set another level than the configured one; nil without that. The log's mutex guards it.
	set *setting
}

// setting is one call of SetLevel.
type setting struct {
	until time.Time
	// timer ends it; nil without an end.
	timer *time.Timer
	// count is the number of subsystems whose level it is.
	count int
}

// newSubsystems returns all subsystems by name, with the configured levels.
func newSubsystems(configured levels) map[string]*subsystem {
	all := map[string]*subsystem{}
	for _, name := range Subsystems() {
		all[name] = newSubsystem(configured.of(name))
	}
	return all
}

func newSubsystem(configured logrus.Level) *subsystem {
	s := &subsystem{configured: configured}
	s.level.Store(uint32(configured))
	return s
}

// subsystem returns the subsystem of a name.
func (l *Log) subsystem(name string) *subsystem {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	known := l.subsystems[name]
	if known == nil {
		known = newSubsystem(l.levels.of(name))
		l.subsystems[name] = known
	}
	return known
}

// SetLevel sets the level of a subsystem and of all below it, or of all subsystems if the name is empty, for a time, or
// until the process ends if that is 0: DEBUG, INFO, WARN, ERROR, FATAL, PANIC, TRACE or LevelConfigured, in any case.
// The last call counts. Any goroutine may call it. The error names what is wrong.
func (l *Log) SetLevel(name, level string, lasting time.Duration) error {
	name = strings.ToLower(name)
	if name != "" && !slices.Contains(Subsystems(), name) {
		return fmt.Errorf("subsystem %q does not exist; there are %s", name, strings.Join(Subsystems(), ", "))
	}
	resets := strings.EqualFold(level, LevelConfigured)
	switch {
	case lasting < 0:
		return fmt.Errorf("log level: the time %v is below 0", lasting)
	case resets && lasting > 0:
		return fmt.Errorf("log level %q has no end", LevelConfigured)
	case level == "":
		return fmt.Errorf("log level %q: not one of DEBUG, INFO, WARN, ERROR, FATAL, PANIC, TRACE", level)
	}
	parsed := logrus.InfoLevel
	if !resets {
		var err error
		if parsed, err = parseLevel("log level", level); err != nil {
			return err
		}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	made := &setting{}
	for known, s := range l.subsystems {
		if name != "" && known != name && !strings.HasPrefix(known, name+".") {
			continue
		}
		if resets {
			s.replace(nil, s.configured)
		} else {
			s.replace(made, parsed)
		}
	}
	if lasting > 0 {
		made.until = time.Now().Add(lasting)
		made.timer = time.AfterFunc(lasting, func() { l.end(made, name) })
	}
	return nil
}

// replace sets the level of the subsystem. The log's mutex is held.
func (s *subsystem) replace(by *setting, level logrus.Level) {
	if before := s.set; before != nil {
		if before.count--; before.count == 0 && before.timer != nil {
			before.timer.Stop()
		}
	}
	if s.set = by; by != nil {
		by.count++
	}
	s.level.Store(uint32(level))
}

// end gives the subsystems whose level is that of a setting the configured one.
func (l *Log) end(over *setting, name string) {
	l.mutex.Lock()
	ended := false
	for _, s := range l.subsystems {
		if s.set == over {
			s.replace(nil, s.configured)
			ended = true
		}
	}
	l.mutex.Unlock()
	if !ended {
		return
	}
	var fields []any
	if name != "" {
		fields = []any{"target", name}
	}
	l.Audit(SubsystemMain).Info("the level of the log is as configured again", fields...)
}

// Levels returns the levels of all subsystems, in the order of Subsystems. Any goroutine may call it.
func (l *Log) Levels() []SubsystemLevel {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	all := make([]SubsystemLevel, 0, len(l.subsystems))
	for _, name := range Subsystems() {
		s := l.subsystems[name]
		one := SubsystemLevel{
			Subsystem: name, Level: levelName(logrus.Level(s.level.Load())), Configured: levelName(s.configured),
		}
		if s.set != nil {
			one.Until = s.set.until
		}
		all = append(all, one)
	}
	return all
}

// levelName returns a level as options have it.
func levelName(level logrus.Level) string {
	if level == logrus.WarnLevel {
		return "WARN"
	}
	return strings.ToUpper(level.String())
}

// stopTimers has no level change any more.
func (l *Log) stopTimers() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, s := range l.subsystems {
		if s.set != nil && s.set.timer != nil {
			s.set.timer.Stop()
		}
	}
}
