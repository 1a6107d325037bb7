package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// rewriteAfter is the least time until the same addresses are written to the same Ingress again: with another writer of
// the same status, each would otherwise overwrite the other as fast as the watch reports it.
const rewriteAfter = 30 * time.Second

// written is a status that was written to an Ingress.
type written struct {
	// version is the Ingress's resourceVersion before; it differs once the watch shows what was written.
	version   string
	when      time.Time
	addresses []address
}

// ingressStatus writes the load-balancer status of Ingresses. An Ingress that is no longer claimed is left as it is,
// since it may belong to another controller. It belongs to the goroutine of its run.
type ingressStatus struct {
	options     Options
	addresses   *Addresses
	permissions *permissionErrors
	changed     chan struct{}

	// sent is what was written recently, or is not visible in the watch yet, by uid.
	sent map[types.UID]written
	// pausedUntil is when writing goes on in a namespace after a refusal.
	pausedUntil map[string]time.Time
	limit       *rate.Limiter
	reason      string
}

func newIngressStatus(options Options, addresses *Addresses, permissions *permissionErrors) *ingressStatus {
	s := &ingressStatus{
		options: options, addresses: addresses, permissions: permissions, changed: make(chan struct{}, 1),
		limit: rate.NewLimiter(rate.Every(statusInterval), statusBurst),
	}
	addresses.onChange(func() {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	})
	return s
}

// run writes until ctx ends.
func (s *ingressStatus) run(ctx context.Context) {
	s.sent, s.pausedUntil, s.reason = map[types.UID]written{}, map[string]time.Time{}, ""
	compare := time.NewTicker(compareEvery)
	defer compare.Stop()
	timer := newAlarm()
	defer timer.Stop()
	timer.within(gather)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			timer.within(gather)
		case <-compare.C:
			timer.within(gather)
		case <-timer.C:
			timer.fired()
			if delay := s.write(ctx); delay > 0 {
				timer.within(delay)
			}
		}
	}
}

// write writes every status that differs as fast as the limits allow. It returns the delay until more may be written; 0
// means that nothing is left.
func (s *ingressStatus) write(ctx context.Context) time.Duration {
	addresses, reason := s.addresses.now()
	if len(addresses) > 0 {
		reason = ""
	}
	if reason != s.reason && reason != "" {
		s.options.Logger.Warn("the status of Ingresses is not written", "reason", reason)
	}
	if s.reason = reason; len(addresses) == 0 {
		return 0
	}
	sent := map[types.UID]written{}
	defer func() { s.sent = sent }()
	var delay time.Duration
	for ingress := range s.addresses.ingresses.Claimed() {
		now := time.Now()
		before, known := s.sent[ingress.UID]
		again := before.when.Add(rewriteAfter).Sub(now)
		if known && (again > 0 || before.version == ingress.ResourceVersion) {
			sent[ingress.UID] = before
		}
		switch {
		case slices.Equal(shown(ingress), addresses) || known && before.version == ingress.ResourceVersion:
			continue // It is right, or the watch does not show yet what was written.
		case known && again > 0 && slices.Equal(before.addresses, addresses):
			delay = earlier(delay, again)
			continue
		case now.Before(s.pausedUntil[ingress.Namespace]) || ctx.Err() != nil:
			continue
		}
		if full := tokenDelay(s.limit, now); full > 0 {
			delay = earlier(delay, full)
			continue
		}
		s.limit.AllowN(now, 1)
		switch err := s.patch(ctx, ingress, addresses); {
		case err == nil:
			sent[ingress.UID] = written{ingress.ResourceVersion, now, addresses}
		case apierrors.IsForbidden(err):
			s.pausedUntil[ingress.Namespace] = now.Add(pauseAfterRefusal)
		case !permanent(err):
			delay = earlier(delay, pauseAfterFailure)
		}
	}
	return delay
}

// patch writes the status of one Ingress.
func (s *ingressStatus) patch(ctx context.Context, ingress *networkingv1.Ingress, addresses []address) error {
	wanted := make([]networkingv1.IngressLoadBalancerIngress, 0, len(addresses))
	for _, one := range addresses {
		wanted = append(wanted, networkingv1.IngressLoadBalancerIngress{IP: one.ip, Hostname: one.hostname})
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": wanted}}})
	if err != nil {
		return fmt.Errorf("status of Ingress %s/%s: %w", ingress.Namespace, ingress.Name, err)
	}
	rest, err := s.options.Clients.REST(networkingv1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	err = rest.Patch(types.MergePatchType).Namespace(ingress.Namespace).Resource("ingresses").Name(ingress.Name).
		SubResource("status").Body(body).Timeout(requestTimeout).MaxRetries(0).Do(ctx).Error()
	s.permissions.note("patch", "ingresses/status."+networkingv1.GroupName, ingress.Namespace, err)
	return err
}

// shown returns the addresses that an Ingress shows, sorted as Addresses are.
func shown(ingress *networkingv1.Ingress) []address {
	found := make([]address, 0, len(ingress.Status.LoadBalancer.Ingress))
	for _, one := range ingress.Status.LoadBalancer.Ingress {
		found = append(found, address{one.IP, one.Hostname})
	}
	return sorted(found)
}

// settled reports whether a watch shows everything that is there.
func settled(status client.Status) bool { return status.State == dynamic.StateSynced }
