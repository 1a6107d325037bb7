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
	for _, name := range fieldNames() {
		exists[strings.ToLower(name)] = true
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
	for i, name := range fieldNames() {
		chosen, ok := named[strings.ToLower(name)]
		if !ok {
			chosen = fallback
		}
		if chosen == keep {
			e.fields |= 1 << i
		}
	}
	return unknown, nil
}
