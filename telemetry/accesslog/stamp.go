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

// stamps caches the texts of the last seconds, because many requests share them.
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

// fraction is the fraction of a second as it is written, with its point and without the zeros at its end.
type fraction struct {
	text   [10]byte
	length int
}

// fractionOf returns the fraction of so many nanoseconds, 0 to 999,999,999. Divisors that are constants make no
// divisions.
func fractionOf(nanoseconds int) (f fraction) {
	if nanoseconds == 0 {
		return f
	}
	f.text[0] = '.'
	rest := uint32(nanoseconds) //nolint:gosec // below 2^30
	f.length = 1
	for place := 9; place > 0; place-- {
		digit := rest % 10
		rest /= 10
		f.text[place] = byte('0' + digit)
		if digit != 0 && f.length == 1 {
			f.length = place + 1
		}
	}
	return f
}

// appendTime appends a time in the form of RFC 3339 with as much of its fraction as there is.
func appendTime(b []byte, second, zone string, f *fraction) []byte {
	b = append(b, '"')
	b = append(b, second...)
	b = append(b, f.text[:f.length]...)
	b = append(b, zone...)
	return append(b, '"')
}
