package admin

import (
	"net/http"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/telemetry/log"
)

// Levels are the levels of the log; log.Log has them.
type Levels interface {
	// SetLevel sets the level of a subsystem and of those below it, or of all for an empty name, for a time or, if that
	// is 0, until the process ends. The error says what is wrong with the name or the level.
	SetLevel(subsystem, level string, lasting time.Duration) error
	// Levels returns the levels of all subsystems.
	Levels() []log.SubsystemLevel
}

// LevelRequest is the JSON of a request to set the level of the log.
type LevelRequest struct {
	// Subsystem is one of log.Subsystems, with those below it; empty is all of them.
	Subsystem string `json:"subsystem,omitempty"`
	// Level is DEBUG, INFO, WARN, ERROR, FATAL, PANIC, TRACE or log.LevelConfigured, in any case. It is required.
	Level string `json:"level"`
	// For is how long the level lasts, such as 10m; empty is until the process ends.
	For string `json:"for,omitempty"`
}

// Level is the JSON of the level of a subsystem.
type Level struct {
	// Subsystem is its name, as in the field subsystem of a line.
	Subsystem string `json:"subsystem"`
	// Level is the present level, and Configured that of the static configuration.
	Level      string `json:"level"`
	Configured string `json:"configured"`
	// Until is when Level becomes Configured by itself; without Until it does not.
	Until time.Time `json:"until,omitzero"`
}

// levels returns the JSON of all levels.
func (h *handler) levels() []Level {
	all := h.options.Levels.Levels()
	shown := make([]Level, 0, len(all))
	for _, one := range all {
		shown = append(shown, Level(one))
	}
	return shown
}

// listLevels lists the levels of the log.
func (h *handler) listLevels(w http.ResponseWriter, _ *http.Request) {
	h.write(w, http.StatusOK, h.levels())
}

// setLevel sets the level of a subsystem.
func (h *handler) setLevel(w http.ResponseWriter, r *http.Request) {
	var request LevelRequest
	if !h.read(w, r, &request) {
		return
	}
	lasting, err := lasting(request.For)
	if err != nil {
		h.refuse(w, http.StatusBadRequest, err)
		return
	}
	var fields []any
	if request.Subsystem != "" {
		fields = append(fields, "target", strings.ToLower(request.Subsystem))
	}
	fields = append(fields, "to", strings.ToUpper(request.Level))
	if lasting > 0 {
		fields = append(fields, "for", lasting.String())
	}
	if err := h.options.Levels.SetLevel(request.Subsystem, request.Level, lasting); err != nil {
		h.refuse(w, http.StatusBadRequest, err)
		return
	}
	h.log(r, "the level of the log is changed", fields...)
	h.write(w, http.StatusOK, h.levels())
}
