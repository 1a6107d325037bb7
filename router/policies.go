package router

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

// policies translates how a load balancer chooses among its servers.
func policies(service string, config *dynamic.ServersLoadBalancer) (loadbalancer.Policies, error) {
	chosen := loadbalancer.Policies{
		Panic:        config.PanicThreshold,
		SlowStart:    time.Duration(config.SlowStart),
		DrainTime:    time.Duration(config.DrainTimeout),
		Zone:         zonePolicy(config.ZoneAware),
		RetryPercent: budgetOf(config.Retry),
	}
	var err error
	if chosen.Strategy, err = picker.NewStrategy(config.Strategy, config.Hash); err != nil {
		return chosen, fmt.Errorf("loadBalancer: %w", err)
	}
	if chosen.Outlier, err = outlier.NewPolicy(config.PassiveHealthCheck, detection(config)); err != nil {
		return chosen, fmt.Errorf("loadBalancer.%w", err)
	}
	if config.HealthCheck != nil {
		chosen.Checked = true
		if chosen.Check, err = health.NewCheck(config.HealthCheck); err != nil {
			return chosen, fmt.Errorf("loadBalancer.%w", err)
		}
	}
	if config.Sticky != nil && config.Sticky.Cookie != nil {
		chosen.Sticks = true
		if chosen.Cookie, err = sticky.New(service, config.Sticky.Cookie); err != nil {
			return chosen, fmt.Errorf("loadBalancer.%w", err)
		}
	}
	if chosen.Limits, err = limits(config.Limits); err != nil {
		return chosen, err
	}
	return chosen, cmp.Or(
		within("panicThreshold", config.PanicThreshold, 0, 100),
		notNegative("slowStart", config.SlowStart),
		notNegative("drainTimeout", config.DrainTimeout),
	)
}

// detection returns how responses count for outlier detection. Without options of its own, the statuses that are
// retried count as failures.
func detection(config *dynamic.ServersLoadBalancer) *dynamic.OutlierDetection {
	if config.OutlierDetection != nil || config.PassiveHealthCheck != nil || config.Retry == nil ||
		len(config.Retry.Status) == 0 {
		return config.OutlierDetection
	}
	inferred := &dynamic.OutlierDetection{}
	inferred.SetDefaults()
	inferred.Status = config.Retry.Status
	return inferred
}

// budgetOf returns the share of the requests that may be tried again; package retry checks it with the rest of its
// options.
func budgetOf(config *dynamic.ServerRetry) int {
	if config == nil || config.BudgetPercent == nil {
		config = &dynamic.ServerRetry{}
		config.SetDefaults()
	}
	return *config.BudgetPercent
}

func zonePolicy(aware *bool) loadbalancer.ZonePolicy {
	switch {
	case aware == nil:
		return loadbalancer.ZoneHints
	case *aware:
		return loadbalancer.ZoneLocal
	}
	return loadbalancer.ZoneNone
}

func limits(config *dynamic.ServerLimits) (loadbalancer.Limits, error) {
	if config == nil {
		return loadbalancer.Limits{}, nil
	}
	err := cmp.Or(
		notNegative("limits.maxConnections", config.MaxConnections),
		notNegative("limits.maxPoolConnections", config.MaxPoolConnections),
		notNegative("limits.maxPending", config.MaxPending),
		notNegative("limits.pendingTimeout", config.PendingTimeout),
	)
	switch {
	case err != nil || config.MaxPending == 0:
	case config.PendingTimeout == 0:
		err = errors.New("loadBalancer.limits.pendingTimeout: 0 lets none of maxPending requests wait")
	case config.MaxConnections == 0 && config.MaxPoolConnections == 0:
		err = errors.New("loadBalancer.limits.maxPending: it has no effect without maxConnections or maxPoolConnections")
	}
	return loadbalancer.Limits{
		PerEndpoint: config.MaxConnections, PerPool: config.MaxPoolConnections,
		Pending: config.MaxPending, PendingTime: time.Duration(config.PendingTimeout),
	}, err
}

// within returns an error unless the value of an option is one of those that make sense.
func within(option string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("loadBalancer.%s: %d is not %d to %d", option, value, least, most)
	}
	return nil
}

func notNegative[T interface{ ~int | ~int64 }](option string, value T) error {
	if value < 0 {
		return fmt.Errorf("loadBalancer.%s: %v is negative", option, value)
	}
	return nil
}
