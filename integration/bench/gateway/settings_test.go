package gateway

import (
	"fmt"
	"os"
	"regexp"
	"time"
)

// settings are how much is measured.
type settings struct {
	size string
	// propagated is how many routes are created one after another, paced how many at 50 per second, attached how many at
	// once.
	propagated, paced, attached int
	// changing is how long a route is changed under traffic, contending how long two controllers write the same routes,
	// churn how long routes are edited, failing how often a backend fails.
	changing, contending, churn time.Duration
	failing                     int
	// namespaces and routes are those of the load, sets and routesOfSet those of ListenerSets.
	namespaces, routes, sets, routesOfSet int
	// parts matches what is measured.
	parts *regexp.Regexp
	// traefik is the path of Traefik's binary, beside which the load is measured; empty measures Sluice alone.
	traefik string
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
	switch size := os.Getenv("BENCH_GATEWAY"); size {
	case "full":
		s = settings{
			propagated: 3000, paced: 1000, attached: 1000, changing: 5 * time.Minute, contending: 10 * time.Minute,
			churn: 2 * time.Minute, failing: 6, namespaces: 50, routes: 5000, sets: 2500, routesOfSet: 16,
		}
	case "small":
		s = settings{
			propagated: 200, paced: 200, attached: 200, changing: 10 * time.Second, contending: 20 * time.Second,
			churn: 10 * time.Second, failing: 2, namespaces: 10, routes: 500, sets: 100, routesOfSet: 16,
		}
	default:
		return nil, fmt.Errorf("BENCH_GATEWAY: %q is neither full nor small", size)
	}
	var err error
	if s.parts, err = regexp.Compile(os.Getenv("BENCH_PARTS")); err != nil {
		return nil, fmt.Errorf("BENCH_PARTS: %w", err)
	}
	s.traefik = os.Getenv("TEST_TRAEFIK")
	s.page, s.size = page, os.Getenv("BENCH_GATEWAY")
	return &s, nil
}
