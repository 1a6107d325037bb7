package gotemplate

// SetWork limits the work of the runs that follow, so that tests do not wait for what templates may do by default.
func (t *Template) SetWork(units int64) { t.meter.limit = units }
