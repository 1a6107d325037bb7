package authrequest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	nginxtime "github.com/sluiceproxy/sluice/nginx/duration"
)

// usualDuration is how long answers are kept where cacheDuration is not set, as in ingress-nginx.
const usualDuration = "200 202 401 5m"

// duration is how long answers of one status are kept; status 0 stands for all.
type duration struct {
	status int
	valid  time.Duration
}

// durations are those of the option cacheDuration, of which the first that fits applies, as with proxy_cache_valid.
type durations []duration

// parseDurations reads entries of status codes, or "any", and a time.
func parseDurations(entries []string) (durations, error) {
	if len(entries) == 0 {
		entries = []string{usualDuration}
	}
	var all durations
	for _, entry := range entries {
		fields := strings.Fields(entry)
		if len(fields) == 0 {
			return nil, fmt.Errorf("authRequest.cacheDuration: %q is empty", entry)
		}
		codes, last := fields[:len(fields)-1], fields[len(fields)-1]
		valid, ok := nginxtime.Parse(last)
		if !ok {
			return nil, fmt.Errorf("authRequest.cacheDuration %q: %q is no time such as 30s, 10m or 1h30m", entry, last)
		}
		if len(codes) == 0 {
			codes = []string{"200", "301", "302"}
		}
		for _, code := range codes {
			status, err := strconv.Atoi(code)
			if code == "any" {
				status, err = 0, nil
			} else if status < 100 || status > 599 {
				return nil, fmt.Errorf("authRequest.cacheDuration %q: %q is no status code, 100 to 599, and not any", entry,
					code)
			}
			if err != nil {
				return nil, fmt.Errorf("authRequest.cacheDuration %q: %q is no status code", entry, code)
			}
			all = append(all, duration{status, valid})
		}
	}
	return all, nil
}

// of returns how long an answer is kept, as proxy_cache decides: as its header says, or else by its status; 0 for not
// at all. Answers that depend on headers of the request (Vary) are not kept.
func (d durations) of(status int, header http.Header) time.Duration {
	if len(header[setCookie]) > 0 || len(header["Vary"]) > 0 {
		return 0
	}
	if valid, says := headerDuration(header, time.Now()); says {
		return valid
	}
	for _, one := range d {
		if one.status == 0 || one.status == status {
			return one.valid
		}
	}
	return 0
}

// headerDuration returns how long the header lets an answer be kept, if it says so: X-Accel-Expires, Cache-Control and
// Expires, of which the first that is there counts.
func headerDuration(header http.Header, now time.Time) (valid time.Duration, says bool) {
	if text := header.Get("X-Accel-Expires"); text != "" {
		if seconds, found := strings.CutPrefix(text, "@"); found {
			at, err := strconv.ParseInt(seconds, 10, 64)
			return bounded(at - now.Unix()), err == nil
		}
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err == nil {
			return bounded(seconds), true
		}
	}
	if control := strings.ToLower(strings.Join(header["Cache-Control"], ",")); control != "" {
		for _, never := range [...]string{"no-cache", "no-store", "private"} {
			if strings.Contains(control, never) {
				return 0, true
			}
		}
		for _, age := range [...]string{"s-maxage=", "max-age="} {
			if _, rest, found := strings.Cut(control, age); found {
				digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
				seconds, err := strconv.ParseInt(digits, 10, 64)
				if err != nil {
					return 0, true // What cannot be read keeps nothing.
				}
				return bounded(seconds), true
			}
		}
	}
	if text := header.Get("Expires"); text != "" {
		at, err := http.ParseTime(text)
		if err != nil {
			return 0, true
		}
		return bounded(at.Unix() - now.Unix()), true
	}
	return 0, false
}

// bounded returns seconds as a time; 0 for negative ones.
func bounded(seconds int64) time.Duration {
	return time.Duration(min(max(seconds, 0), int64(nginxtime.Longest/time.Second))) * time.Second
}
