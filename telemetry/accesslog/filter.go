package accesslog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// statusRange is a range of status codes, both ends included.
type statusRange struct{ from, to int }

// filter selects what is logged: what matches one of its conditions, and all when it has none. Connections and
// sessions have no status; a filter that has conditions of status alone selects all of them.
type filter struct {
	statuses    []statusRange
	retried     bool
	minDuration time.Duration
}

func parseFilter(config *static.AccessLogFilters) (filter, error) {
	if config == nil {
		return filter{}, nil
	}
	parsed := filter{retried: config.RetryAttempts, minDuration: time.Duration(config.MinDuration)}
	if parsed.minDuration < 0 {
		return filter{}, fmt.Errorf("accessLog.filters.minDuration %s: is negative", parsed.minDuration)
	}
	for _, text := range config.StatusCodes {
		codes, err := parseStatuses(text)
		if err != nil {
			return filter{}, fmt.Errorf("accessLog.filters.statusCodes %w", err)
		}
		parsed.statuses = append(parsed.statuses, codes)
	}
	return parsed, nil
}

// parseStatuses reads a status code or a range such as 500-599.
func parseStatuses(text string) (statusRange, error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	from, lowErr := strconv.Atoi(strings.TrimSpace(low))
	to, highErr := strconv.Atoi(strings.TrimSpace(high))
	if lowErr != nil || highErr != nil || from < 100 || to > 999 || from > to {
		return statusRange{}, fmt.Errorf("%q: neither a status code nor a range such as 500-599", text)
	}
	return statusRange{from, to}, nil
}

// keeps reports whether a record is logged.
func (f *filter) keeps(record *telemetry.Record) bool {
	statuses := f.statuses
	if !record.IsRequest() {
		statuses = nil
	}
	if len(statuses) == 0 && !f.retried && f.minDuration == 0 {
		return true
	}
	return f.retried && record.Tries > 1 ||
		f.minDuration > 0 && record.Duration >= f.minDuration ||
		slices.ContainsFunc(statuses, func(s statusRange) bool { return s.from <= record.Status && record.Status <= s.to })
}
