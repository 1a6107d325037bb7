package accesslog

import (
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/static"
)

func queryMode(config *static.FieldQuery) (mode, error) {
	if config == nil {
		return keep, nil
	}
	return parseMode("accessLog.fields.queryParameters.defaultMode", config.DefaultMode, keep, true)
}

// choose keeps the fields that are to be kept. Names are compared without regard to case.
func (e *encoder) choose(choice static.AccessLogFields) (unknown []string, err error) {
	fallback, err := parseMode("accessLog.fields.defaultMode", choice.DefaultMode, keep, false)
	if err != nil {
		return nil, err
	}
	named := map[string]mode{}
	exists := map[string]bool{}
	for _, field := range fields() {
		exists[strings.ToLower(field.name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(choice.Names)) {
		read, err := parseMode("accessLog.fields.names."+name, choice.Names[name], fallback, false)
		if err != nil {
			return nil, err
		}
		lower := strings.ToLower(name)
		if before, twice := named[lower]; twice {
			read = max(read, before)
		}
		named[lower] = read
		if !exists[lower] {
			unknown = append(unknown, name)
		}
	}
	for _, field := range fields() {
		chosen, ok := named[strings.ToLower(field.name)]
		if !ok {
			chosen = fallback
		}
		if chosen == keep {
			e.kept[field.name] = true
			e.members = append(e.members, member{`,"` + field.name + `":`, field.write})
		}
	}
	return unknown, nil
}
