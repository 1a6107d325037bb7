package accesslog

import (
	"sync/atomic"
	"time"
)

// stamp is the text of one second, in the forms that lines have it in. It does not change.
type stamp struct {
	unix int64
	// utc and local are date and time without fraction and zone; zone is that of local.
	utc, local, zone string
	// common and commonLocal are those of the common format.
	common, commonLocal string
}

// commonTime is the form of a time in the common log format.
const commonTime = "02/Jan/2006:15:04:05 -0700"

// stamps remembers the texts of the last seconds, because many requests share them.
type stamps struct {
	location *time.Location
	recent   [4]atomic.Pointer[stamp]
}

// of returns the texts of the second in which t is.
func (s *stamps) of(t time.Time) *stamp {
	unix := t.Unix()
	slot := &s.recent[unix&3]
	if known := slot.Load(); known != nil && known.unix == unix {
		return known
	}
	const dateTime = "2006-01-02T15:04:05"
	utc, local := t.UTC(), t.In(s.location)
	made := &stamp{
		unix: unix, utc: utc.Format(dateTime), local: local.Format(dateTime), zone: local.Format("Z07:00"),
		common: utc.Format(commonTime), commonLocal: local.Format(commonTime),
	}
	slot.Store(made)
	return made
}

// appendTime appends a time in the form of RFC 3339 with as much of its fraction as there is.
func appendTime(b []byte, second, zone string, nanoseconds int) []byte {
	b = append(b, '"')
	b = append(b, second...)
	if nanoseconds > 0 {
		b = append(b, '.')
		for unit := 100_000_000; nanoseconds > 0; unit /= 10 {
			b = append(b, byte('0'+nanoseconds/unit))
			nanoseconds %= unit
		}
	}
	b = append(b, zone...)
	return append(b, '"')
}
