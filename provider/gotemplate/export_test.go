package gotemplate

import (
	"maps"
	"slices"

	"github.com/Masterminds/sprig/v3"
)

// SetWork limits the work of the runs that follow, so that tests do not wait for what templates may do by default.
func (t *Template) SetWork(units int64) { t.limit.Store(units) }

// Names returns the names of the functions that a template has beside those of text/template.
func Names() []string { return append(slices.Collect(maps.Keys(sprig.TxtFuncMap())), "normalize") }
