package log

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sirupsen/logrus"
)

// subsystemField is the key of the name of the subsystem in a line.
const subsystemField = "subsystem"

// logger is the Logger of one subsystem.
type logger struct {
	log       *Log
	name      string
	subsystem *subsystem
	// audits says that lines are written whatever the level is.
	audits bool
}

// Debug writes a line at level debug.
func (s *logger) Debug(message string, keysAndValues ...any) {
	s.write(logrus.DebugLevel, message, keysAndValues)
}

// Info writes a line at level info.
func (s *logger) Info(message string, keysAndValues ...any) {
	s.write(logrus.InfoLevel, message, keysAndValues)
}

// Warn writes a line at level warning.
func (s *logger) Warn(message string, keysAndValues ...any) {
	s.write(logrus.WarnLevel, message, keysAndValues)
}

// Error writes a line at level error.
func (s *logger) Error(message string, keysAndValues ...any) {
	s.write(logrus.ErrorLevel, message, keysAndValues)
}

func (s *logger) write(level logrus.Level, message string, keysAndValues []any) {
	if !s.audits && level > logrus.Level(s.subsystem.level.Load()) {
		return
	}
	fields := make(logrus.Fields, len(keysAndValues)/2+1)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		fields[fmt.Sprint(keysAndValues[i])] = plain(keysAndValues[i+1])
	}
	fields[subsystemField] = s.name
	entry := &logrus.Entry{Logger: s.log.logger, Time: time.Now(), Level: level, Message: oneLine(message), Data: fields}
	s.log.writer.add(s.log.format(entry))
	s.log.export.add(entry)
}

// oneLine escapes control characters of a message: logrus writes messages to a terminal unescaped.
func oneLine(message string) string {
	if !utf8.ValidString(message) || strings.ContainsFunc(message, func(r rune) bool { return !unicode.IsPrint(r) }) {
		quoted := strconv.Quote(message)
		return quoted[1 : len(quoted)-1]
	}
	return message
}

// plain returns a value of a type that all formats support.
func plain(value any) any {
	switch v := value.(type) {
	case string:
		return strings.ToValidUTF8(v, "\uFFFD") // OTLP requires UTF-8.
	case nil, bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		return v
	}
	return plain(fmt.Sprint(value)) // Uses Error or String.
}
