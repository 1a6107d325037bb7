package outlier

import (
	"fmt"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// The defaults of outlierDetection.
const (
	// DefaultConsecutiveFailures is how many failures in a row take a member out.
	DefaultConsecutiveFailures = 5
	// DefaultMaxEjectedPercent is the share of a pool that may be out at once.
	DefaultMaxEjectedPercent = 50
)

// Policy defines which results are failures, and when they eject. It is immutable and compared with ==. The
// zero value never ejects.
type Policy struct {
	// window and attempts are the options of passiveHealthCheck; attempts is 0 where it is not given.
	window   time.Duration
	attempts int
	// consecutive is 0 where outlierDetection is off.
	consecutive   int
	status        dynamic.StatusCodes
	base, longest time.Duration
	percent       int
}

// NewPolicy returns the policy of a service with the options passiveHealthCheck and outlierDetection; nil is an absent
// option. Without either of them the defaults of outlierDetection apply; passiveHealthCheck alone applies alone. The
// error names the option: a time that is not above 0, maxFailedAttempts below 1, negative consecutiveFailures, an
// invalid status, maxEjectionTime below baseEjectionTime, or maxEjectedPercent outside 0 to 100.
func NewPolicy(passive *dynamic.PassiveServerHealthCheck, detection *dynamic.OutlierDetection) (Policy, error) {
	if passive == nil && detection == nil {
		detection = &dynamic.OutlierDetection{}
		detection.SetDefaults()
	}
	policy := Policy{percent: 100}
	if passive != nil {
		if err := policy.setPassive(passive); err != nil {
			return Policy{}, fmt.Errorf("passiveHealthCheck.%w", err)
		}
	}
	if detection != nil {
		if err := policy.setDetection(detection); err != nil {
			return Policy{}, fmt.Errorf("outlierDetection.%w", err)
		}
	}
	return policy, nil
}

func (p *Policy) setPassive(config *dynamic.PassiveServerHealthCheck) error {
	if config.FailureWindow <= 0 {
		return fmt.Errorf("failureWindow: %v is not above 0", time.Duration(config.FailureWindow))
	}
	if config.MaxFailedAttempts < 1 {
		return fmt.Errorf("maxFailedAttempts: %d is below 1", config.MaxFailedAttempts)
	}
	p.window, p.attempts = time.Duration(config.FailureWindow), config.MaxFailedAttempts
	return nil
}

func (p *Policy) setDetection(config *dynamic.OutlierDetection) error {
	p.consecutive = orDefault(config.ConsecutiveFailures, DefaultConsecutiveFailures)
	p.percent = orDefault(config.MaxEjectedPercent, DefaultMaxEjectedPercent)
	p.base, p.longest = time.Duration(config.BaseEjectionTime), time.Duration(config.MaxEjectionTime)
	var err error
	if p.status, err = dynamic.ParseStatusCodes(config.Status); err != nil {
		// The entry names itself as a status, which is the option's name too.
		return err
	}
	switch {
	case p.consecutive < 0:
		return fmt.Errorf("consecutiveFailures: %d is negative", p.consecutive)
	case p.base <= 0:
		return fmt.Errorf("baseEjectionTime: %v is not above 0", p.base)
	case p.longest < p.base:
		return fmt.Errorf("maxEjectionTime: %v is below the baseEjectionTime %v", p.longest, p.base)
	case p.percent < 0 || p.percent > 100:
		return fmt.Errorf("maxEjectedPercent: %d is not 0 to 100", p.percent)
	}
	return nil
}

func orDefault(value *int, otherwise int) int {
	if value == nil {
		return otherwise
	}
	return *value
}

// Enabled reports whether the policy can eject.
func (p *Policy) Enabled() bool { return p.attempts > 0 || p.consecutive > 0 }

// Allows reports whether one more of total members may be ejected, when out of them are ejected already,
// unreachable of those because of failed connects. The last one is never ejected. Beyond that maxEjectedPercent
// limits ejections, rounded down, but to at least one member when it is above 0. Members that cannot be
// connected to are exempt: the limit protects against wrong decisions, and a member without connections serves
// no request anyway. passiveHealthCheck alone has no limit: all but one may be ejected.
func (p *Policy) Allows(out, unreachable, total int, reached bool) bool {
	switch {
	case out+1 >= total || p.percent == 0:
		return false
	case !reached:
		return true
	}
	return out-unreachable < max(1, total*p.percent/100)
}

// Result is the result of a request to a member. The zero value is neutral.
type Result struct {
	// Unreachable is set if no connection was established.
	Unreachable bool
	// Broken is set if the connection failed, or the request took too long, after something was sent.
	Broken bool
	// Answered is set if the member has answered, or accepted a connection, in a protocol that has no status codes.
	Answered bool
	// Status is the status code of the response, 0 without a response head.
	Status int
	// Began is when the request began, on the clock of State.Observe; 0 when unknown. It separates requests
	// that began before the last ejection from later ones.
	Began time.Duration
}

// silent reports whether the result is neutral.
func (r *Result) silent() bool { return !r.Unreachable && !r.Broken && !r.Answered && r.Status == 0 }

// detector is the option that counts a result as a failure.
type detector uint32

const (
	byPassive detector = 1 << iota
	byDetection
)

// detectors returns the options in force.
func (p *Policy) detectors() detector {
	var enabled detector
	if p.attempts > 0 {
		enabled |= byPassive
	}
	if p.consecutive > 0 {
		enabled |= byDetection
	}
	return enabled
}

// detect returns the options that count a result as a failure.
func (p *Policy) detect(r *Result) detector {
	var guilty detector
	lost := r.Unreachable || r.Broken
	if p.attempts > 0 && (lost || r.Status >= 500) {
		guilty |= byPassive
	}
	if p.consecutive > 0 && (lost || p.status.Contains(r.Status)) {
		guilty |= byDetection
	}
	return guilty
}
