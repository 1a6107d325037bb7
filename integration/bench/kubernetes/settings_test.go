package kubernetes

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// settings are the environment variables. Without them nothing is measured.
type settings struct {
	// sizes are how many routes there are, growing.
	sizes []int
	// churn is how long the routes and endpoints of the size that is judged change; those of the others change for a
	// tenth.
	churn time.Duration
	// rounds is how often the start and CPU are measured.
	rounds int
	// parts matches what is measured beside the start.
	parts *regexp.Regexp
	// page is the file that is written.
	page string
}

// parse parses the settings; nil if there are none.
func parse() (*settings, error) {
	page := os.Getenv("BENCH_PAGE")
	if page == "" {
		return nil, nil
	}
	s := &settings{page: page}
	var err error
	for text := range strings.FieldsSeq(os.Getenv("BENCH_SIZES")) {
		size, err := strconv.Atoi(text)
		if err != nil || size < 100 || size > 20_000 || (len(s.sizes) > 0 && size <= s.sizes[len(s.sizes)-1]) {
			return nil, fmt.Errorf("BENCH_SIZES: %q is no number of routes from 100 to 20000 above the one before", text)
		}
		s.sizes = append(s.sizes, size)
	}
	if s.churn, err = time.ParseDuration(os.Getenv("BENCH_CHURN")); err != nil || s.churn < time.Second ||
		s.churn > time.Hour {
		return nil, fmt.Errorf("BENCH_CHURN: not of 1s to 1h: %w", err)
	}
	if s.rounds, err = strconv.Atoi(os.Getenv("BENCH_ROUNDS")); err != nil || s.rounds < 1 || s.rounds > 20 {
		return nil, fmt.Errorf("BENCH_ROUNDS: not of 1 to 20: %w", err)
	}
	if s.parts, err = regexp.Compile(os.Getenv("BENCH_PARTS")); err != nil {
		return nil, fmt.Errorf("BENCH_PARTS: %w", err)
	}
	return s, nil
}
