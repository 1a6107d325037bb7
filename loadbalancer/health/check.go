package health

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Defaults of healthCheck that are not zero.
const (
	// DefaultMethod is the method of a check.
	DefaultMethod = "GET"
	// DefaultThreshold is how many equal results in a row change the state, for rise and for fall.
	DefaultThreshold = 1
	// DefaultJitter is by how many percent intervals vary at random.
	DefaultJitter = 10
)

// Check is the definition of an active check: the option healthCheck with its defaults. It is immutable and
// compared with ==. Only NewCheck and NewTCPCheck create a usable one.
type Check struct {
	// scheme is http, https, h2c, or empty for the target's.
	scheme string
	// hostname is the Host header, empty for the target's.
	hostname string
	// headers are lines of name, colon and value, sorted by name.
	headers string
	// method and path are empty in mode grpc; path is escaped, with its query, and relative where it begins
	// without a slash.
	method, path string
	// send and expect are the exchange of mode tcp.
	send, expect string
	// interval and unhealthy are the times between checks, timeout is for one of them.
	interval, unhealthy, timeout time.Duration
	// status is the healthy one, 0 for 200 to 399.
	status int32
	// port is 0 for the target's.
	port uint16
	// jitter is a percentage.
	jitter     uint8
	grpc, tcp  bool
	follow     bool
	rise, fall int32
}

// NewCheck returns the check of an option, which must not be nil. The method defaults to GET, the mode to http.
// A path without a leading slash is relative to the path of the server's URL, as in Traefik; an empty one is
// that path. The error names the option with an invalid value: an unknown scheme or mode, a path that is a URL
// of its own, a method or header name that is not a token, a status outside 200 to 999, a port outside 1 to
// 65535, a time that is not above 0, rise or fall below 1, a jitter outside 0 to 100.
func NewCheck(config *dynamic.ServerHealthCheck) (Check, error) {
	check := Check{follow: config.FollowRedirects == nil || *config.FollowRedirects}
	for _, set := range []func(*dynamic.ServerHealthCheck) error{
		check.setDestination, check.setMode, check.setWhat, check.setHeaders, check.setSchedule,
	} {
		if err := set(config); err != nil {
			return Check{}, fmt.Errorf("healthCheck.%w", err)
		}
	}
	if check.grpc {
		check.method, check.path, check.status, check.follow = "", "", 0, false
		if check.scheme == "h2c" {
			check.scheme = "http"
		}
	}
	return check, nil
}

// Relative reports whether the request depends on the path of the server's URL (Target.Path).
func (c *Check) Relative() bool { return !c.grpc && !c.tcp && !strings.HasPrefix(c.path, "/") }

// setDestination parses scheme, port, hostname and headers.
func (c *Check) setDestination(config *dynamic.ServerHealthCheck) error {
	switch config.Scheme {
	case "", "http", "https", "h2c":
		c.scheme = config.Scheme
	default:
		return fmt.Errorf("scheme: %q is none of http, https and h2c", config.Scheme)
	}
	if err := c.setPort(config.Port); err != nil {
		return err
	}
	if config.Hostname != "" && !authority(config.Hostname) {
		return fmt.Errorf("hostname: %q is no host, with or without a port", config.Hostname)
	}
	c.hostname = config.Hostname
	return nil
}

// setPort parses the port.
func (c *Check) setPort(port int) error {
	if port < 0 || port > 65535 {
		return fmt.Errorf("port: %d is not 1 to 65535", port)
	}
	c.port = uint16(port)
	return nil
}

// setMode parses the mode.
func (c *Check) setMode(config *dynamic.ServerHealthCheck) error {
	switch config.Mode {
	case "", "http":
	case "grpc":
		c.grpc = true
	default:
		return fmt.Errorf("mode: %q is neither http nor grpc", config.Mode)
	}
	return nil
}

// setWhat parses the request and the healthy status.
func (c *Check) setWhat(config *dynamic.ServerHealthCheck) error {
	var err error
	if c.path, err = normalPath(config.Path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	c.method = config.Method
	if c.method == "" {
		c.method = DefaultMethod
	}
	switch {
	case !token(c.method):
		return fmt.Errorf("method: %q is no method", config.Method)
	case c.method == "CONNECT":
		return errors.New("method: CONNECT is for tunnels")
	case config.Status != 0 && (config.Status < 200 || config.Status > 999):
		return fmt.Errorf("status: %d is not 200 to 999", config.Status)
	}
	c.status = int32(config.Status)
	return nil
}

// times are the options of a schedule, which checks of HTTP and TCP have in common.
type times struct {
	interval, timeout  time.Duration
	unhealthy          *time.Duration // nil is interval
	rise, fall, jitter *int
}

// setSchedule parses the schedule.
func (c *Check) setSchedule(config *dynamic.ServerHealthCheck) error {
	return c.schedule(&times{
		interval: time.Duration(config.Interval), unhealthy: (*time.Duration)(config.UnhealthyInterval),
		timeout: time.Duration(config.Timeout), rise: config.Rise, fall: config.Fall, jitter: config.Jitter,
	})
}

// schedule parses intervals, the time-out, rise, fall and jitter.
func (c *Check) schedule(t *times) error {
	c.interval, c.unhealthy, c.timeout = t.interval, t.interval, t.timeout
	if t.unhealthy != nil {
		c.unhealthy = *t.unhealthy
	}
	for _, option := range []struct {
		name  string
		value time.Duration
	}{{"interval", c.interval}, {"unhealthyInterval", c.unhealthy}, {"timeout", c.timeout}} {
		if option.value <= 0 {
			return fmt.Errorf("%s: %v is not above 0", option.name, option.value)
		}
	}
	rise, fall := orDefault(t.rise, DefaultThreshold), orDefault(t.fall, DefaultThreshold)
	jitter := orDefault(t.jitter, DefaultJitter)
	switch {
	case rise < 1 || rise > maxThreshold:
		return fmt.Errorf("rise: %d is not 1 to %d", rise, maxThreshold)
	case fall < 1 || fall > maxThreshold:
		return fmt.Errorf("fall: %d is not 1 to %d", fall, maxThreshold)
	case jitter < 0 || jitter > 100:
		return fmt.Errorf("jitter: %d is not 0 to 100 percent", jitter)
	}
	c.rise, c.fall, c.jitter = int32(rise), int32(fall), uint8(jitter)
	return nil
}

// maxThreshold is the maximum of rise and fall.
const maxThreshold = 1_000_000

func orDefault(value *int, otherwise int) int {
	if value == nil {
		return otherwise
	}
	return *value
}
