package server

import (
	"net/http"
	"sync/atomic"
	"time"
)

// dateLine is the Date field of one second.
type dateLine struct {
	second int64
	text   []byte
}

// dateClock caches the Date field of the current second. A caller that finds it old makes the next; no lock is
// taken.
type dateClock struct{ current atomic.Pointer[dateLine] }

// append appends the Date line of now (RFC 9110, section 6.6.1).
func (c *dateClock) append(b []byte, now time.Time) []byte {
	line := c.current.Load()
	if second := now.Unix(); line == nil || line.second != second {
		line = &dateLine{second: second}
		line.text = append(line.text, "Date: "...)
		line.text = now.UTC().AppendFormat(line.text, http.TimeFormat)
		line.text = append(line.text, "\r\n"...)
		c.current.Store(line)
	}
	return append(b, line.text...)
}
