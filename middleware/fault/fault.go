// Package fault implements the middleware fault, which injects faults into a part of the requests: a delay, a reset of
// the connection or stream, and an answer in the service's place.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Fault is one configured fault.
type Fault struct {
	name    string
	random  func(n int64) int64
	headers []header

	duration                    time.Duration
	maxActive                   int64
	delay, reset, abort         share
	afterHead                   bool
	status, grpcStatus          int
	warnings                    []string
	active                      atomic.Int64
	delayed, cut, aborted, over atomic.Uint64
}

// Options are the dependencies of [New].
type Options struct {
	// Random returns a random number from 0 to n-1, from any goroutine. Default: [rand.Int64N].
	Random func(n int64) int64
}

// header is a header that a request must have. An empty value stands for any.
type header struct{ name, value string }

// share is a part of the requests, in millionths.
type share int64

// whole is the share of 100 %.
const whole = share(100 * perPercent)

// perPercent is how many steps one percent has.
const perPercent = 10_000

// noGRPCStatus says that calls of gRPC get the status of HTTP.
const noGRPCStatus = -1

// New checks the definition: the duration of a delay is more than 0, a status is from 200 to 599 and one of gRPC from 0
// to 16, a percentage is from 0 to 100 in steps of 0.0001, maxActive is not negative, and headers have valid names. An
// error begins with the option and contains no key or value of headers.
func New(name string, config dynamic.Fault, options Options) (*Fault, error) {
	f := &Fault{name: name, random: options.Random, maxActive: int64(config.MaxActive), grpcStatus: noGRPCStatus}
	if f.random == nil {
		f.random = rand.Int64N
	}
	for _, field := range slices.Sorted(maps.Keys(config.Headers)) {
		if !httpguts.ValidHeaderFieldName(field) {
			return nil, errors.New("fault.headers has a key that is not the name of a header") // It may be a secret.
		}
		f.headers = append(f.headers, header{http.CanonicalHeaderKey(field), config.Headers[field]})
	}
	if config.MaxActive < 0 {
		return nil, fmt.Errorf("fault.maxActive %d is negative", config.MaxActive)
	}
	if err := errors.Join(f.setDelay(config.Delay), f.setReset(config.Reset), f.setAbort(config.Abort)); err != nil {
		return nil, err
	}
	f.warn(config)
	return f, nil
}

func (f *Fault) setDelay(config *dynamic.FaultDelay) (err error) {
	if config == nil {
		return nil
	}
	if f.duration = time.Duration(config.Duration); f.duration <= 0 {
		return fmt.Errorf("fault.delay.duration %s is not more than 0", f.duration)
	}
	f.delay, err = shareOf("fault.delay.percentage", config.Percentage)
	return err
}

func (f *Fault) setReset(config *dynamic.FaultReset) (err error) {
	if config == nil {
		return nil
	}
	f.afterHead = config.AfterHead
	f.reset, err = shareOf("fault.reset.percentage", config.Percentage)
	return err
}

func (f *Fault) setAbort(config *dynamic.FaultAbort) (err error) {
	if config == nil {
		return nil
	}
	if f.status = config.Status; f.status < 200 || f.status > 599 {
		return fmt.Errorf("fault.abort.status %d is not a status code from 200 to 599", f.status)
	}
	if config.GRPCStatus != nil {
		if f.grpcStatus = *config.GRPCStatus; f.grpcStatus < 0 || f.grpcStatus > 16 {
			return fmt.Errorf("fault.abort.grpcStatus %d is not a status code of gRPC, 0 to 16", f.grpcStatus)
		}
	}
	f.abort, err = shareOf("fault.abort.percentage", config.Percentage)
	return err
}

// shareOf returns the share of a percentage.
func shareOf(option string, percentage float64) (share, error) {
	steps := math.Round(percentage * perPercent)
	switch {
	case math.IsNaN(percentage) || percentage < 0 || percentage > 100:
		return 0, fmt.Errorf("%s %s is not from 0 to 100", option, decimal(percentage))
	case math.Abs(steps-percentage*perPercent) > 1e-6:
		return 0, fmt.Errorf("%s %s is not a multiple of 0.0001", option, decimal(percentage))
	}
	return share(steps), nil
}

// decimal prints a number without an exponent.
func decimal(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

// warn collects what has no effect.
func (f *Fault) warn(config dynamic.Fault) {
	if config.Delay == nil && config.Abort == nil && config.Reset == nil {
		f.warnings = append(f.warnings, "fault sets none of delay, reset and abort, so nothing is injected")
	}
	if config.MaxActive > 0 && config.Delay == nil {
		f.warnings = append(f.warnings, "fault.maxActive has no effect without fault.delay")
	}
	if f.reset == whole && config.Abort != nil {
		f.warnings = append(f.warnings, "fault.abort has no effect: fault.reset ends all requests before it")
	}
}

// Warnings returns options without effect.
func (f *Fault) Warnings() []string { return f.warnings }

// NoRetain implements httpio.NoRetainer.
func (*Fault) NoRetain() {}

// Counts returns how many requests were delayed ("delayed"), reset ("reset") and answered ("aborted"), and how many
// were not delayed because of maxActive ("passed_max_active").
func (f *Fault) Counts() map[string]uint64 {
	return map[string]uint64{
		"delayed": f.delayed.Load(), "reset": f.cut.Load(), "aborted": f.aborted.Load(), "passed_max_active": f.over.Load(),
	}
}

// Status returns the number of requests that are held back ("active"). There is no state.
func (f *Fault) Status() (state string, levels map[string]int64) {
	return "", map[string]int64{"active": f.active.Load()}
}
