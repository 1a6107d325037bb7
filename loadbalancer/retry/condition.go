package retry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Condition is a set of failures without a response.
type Condition uint8

const (
	// OnError is no connection, or one that broke off before the response.
	OnError Condition = 1 << iota
	// OnTimeout is a time-out before the response.
	OnTimeout
	// OnInvalidHeader is a response that is no HTTP.
	OnInvalidHeader

	// OnAny is all of them.
	OnAny = OnError | OnTimeout | OnInvalidHeader
)

// conditions reads retry.retryOn and retry.disableRetryOnNetworkError.
func conditions(config *dynamic.ServerRetry) (Condition, error) {
	switch {
	case config.DisableRetryOnNetworkError && config.RetryOn != nil:
		return 0, errors.New("retry.disableRetryOnNetworkError and retry.retryOn exclude one another")
	case config.DisableRetryOnNetworkError:
		return 0, nil
	case config.RetryOn == nil:
		return OnAny, nil
	case len(config.RetryOn) == 0:
		return 0, errors.New("retry.retryOn is empty")
	}
	var set Condition
	for _, name := range config.RetryOn {
		switch name {
		case dynamic.RetryOnError:
			set |= OnError
		case dynamic.RetryOnTimeout:
			set |= OnTimeout
		case dynamic.RetryOnInvalidHeader:
			set |= OnInvalidHeader
		default:
			return 0, fmt.Errorf("retry.retryOn %q is none of %s", name, strings.Join([]string{
				dynamic.RetryOnError, dynamic.RetryOnTimeout, dynamic.RetryOnInvalidHeader,
			}, ", "))
		}
	}
	return set, nil
}
