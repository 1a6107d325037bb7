package server

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http2/wire"
)

// dateField is the field date of one second, compressed.
type dateField struct {
	second int64
	text   []byte
}

// dateClock caches the field date of the current second. A caller that finds it old makes the next; no lock is taken.
type dateClock struct{ current atomic.Pointer[dateField] }

// append appends the field date of now (RFC 9110, section 6.6.1).
func (c *dateClock) append(b []byte, now time.Time) []byte {
	field := c.current.Load()
	if second := now.Unix(); field == nil || field.second != second {
		field = &dateField{second: second, text: wire.AppendField(nil, "date", now.UTC().Format(http.TimeFormat))}
		c.current.Store(field)
	}
	return append(b, field.text...)
}
