package ingressnginx

import (
	"fmt"
	"os"
	"regexp"
	"time"
)

// settings are how much is measured.
type settings struct {
	size string
	// ingresses is their number, starts how often the start is measured, edits how many edits of each sort.
	ingresses, starts, edits int
	// flipping is how long annotations change.
	flipping time.Duration
	// parts matches what is measured.
	parts *regexp.Regexp
	// page is the file that is written.
	page string
}

// parse parses the environment variables; nil if there are none.
func parse() (*settings, error) {
	page := os.Getenv("BENCH_PAGE")
	if page == "" {
		return nil, nil
	}
	var s settings
	switch size := os.Getenv("BENCH_INGRESS"); size {
	case "full":
		s = settings{ingresses: 2000, starts: 5, edits: 100, flipping: 30 * time.Second}
	case "small":
		s = settings{ingresses: 500, starts: 2, edits: 20, flipping: 5 * time.Second}
	default:
		return nil, fmt.Errorf("BENCH_INGRESS: %q is neither full nor small", size)
	}
	var err error
	if s.parts, err = regexp.Compile(os.Getenv("BENCH_PARTS")); err != nil {
		return nil, fmt.Errorf("BENCH_PARTS: %w", err)
	}
	s.page, s.size = page, os.Getenv("BENCH_INGRESS")
	return &s, nil
}
