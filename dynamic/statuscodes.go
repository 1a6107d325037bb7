package dynamic

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The status codes that HTTP has (RFC 9110 section 15).
const (
	lowestStatus  = 100
	highestStatus = 599
)

// StatusCodes is a set of status codes. The zero value is empty; equal sets are equal by ==.
type StatusCodes struct {
	bits [(highestStatus-lowestStatus)/64 + 1]uint64
}

// ParseStatusCodes reads status codes (502), ranges (500-599) and classes (5xx), several of which one entry may list
// with commas. Codes are 100 to 599. An error names the entry.
func ParseStatusCodes(list []string) (StatusCodes, error) {
	var codes StatusCodes
	for _, entry := range list {
		for part := range strings.SplitSeq(entry, ",") {
			from, to, err := statusRange(strings.TrimSpace(part))
			if err != nil {
				return StatusCodes{}, fmt.Errorf("status %q: %w", entry, err)
			}
			for code := from; code <= to; code++ {
				codes.bits[(code-lowestStatus)/64] |= 1 << ((code - lowestStatus) % 64)
			}
		}
	}
	return codes, nil
}

// Contains reports whether a status code is in the set; codes below 100 or above 599 are not.
func (s *StatusCodes) Contains(code int) bool {
	if code < lowestStatus || code > highestStatus {
		return false
	}
	return s.bits[(code-lowestStatus)/64]&(1<<((code-lowestStatus)%64)) != 0
}

// Empty reports whether the set is empty.
func (s *StatusCodes) Empty() bool { return *s == StatusCodes{} }

var errStatus = errors.New("is no status code from 100 to 599, no range such as 500-599 and no class such as 5xx")

// statusRange reads one code, range or class.
func statusRange(text string) (from, to int, err error) {
	if len(text) == 3 && strings.EqualFold(text[1:], "xx") {
		from = int(text[0]-'0') * 100
		if from < lowestStatus || from > highestStatus {
			return 0, 0, errStatus
		}
		return from, from + 99, nil
	}
	low, high, ranged := strings.Cut(text, "-")
	if from, err = statusCode(strings.TrimSpace(low)); err != nil || !ranged {
		return from, from, err
	}
	if to, err = statusCode(strings.TrimSpace(high)); err != nil {
		return 0, 0, err
	}
	if to < from {
		return 0, 0, fmt.Errorf("is a range that ends before it begins, did you mean \"%d-%d\"?", to, from)
	}
	return from, to, nil
}

func statusCode(text string) (int, error) {
	code, err := strconv.Atoi(text)
	if err != nil || len(text) != 3 || code < lowestStatus || code > highestStatus {
		return 0, errStatus
	}
	return code, nil
}
