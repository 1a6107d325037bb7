package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// rewriteAfter is how long the same addresses are not written to the same Ingress again: somebody else who writes others
// would otherwise be answered as fast as the watch brings it, and answer in turn.
const rewriteAfter = 30 * time.Second

// written is what has been written to an Ingress.
type written struct {
	// version is the Ingress's resourceVersion before; the watch shows another one as soon as it shows what was written.
	version   string
	when      time.Time
	addresses []address
}

// ingressStatus keeps the load-balancer status of Ingresses as the Addresses say. An Ingress that is not claimed any more
// is left as it is: it may be somebody else's by now. It belongs to the goroutine of its run.
type ingressStatus struct {
	options Options
	refused *refusals
	changed chan struct{}

	// sent is what has been written lately, or is not seen as written yet, by uid.
	sent   map[types.UID]written
	until  map[string]time.Time
	limit  bucket
	reason string
}

func newIngressStatus(options Options, refused *refusals) *ingressStatus {
	s := &ingressStatus{
		options: options, refused: refused, changed: make(chan struct{}, 1),
		limit: bucket{size: statusBurst, interval: statusInterval},
	}
	options.Addresses.onChange(func() {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	})
	return s
}

// run writes until ctx ends.
func (s *ingressStatus) run(ctx context.Context) {
	s.sent, s.until, s.reason = map[types.UID]written{}, map[string]time.Time{}, ""
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
			timer.rang()
			if wait := s.write(ctx); wait > 0 {
				timer.within(wait)
			}
		}
	}
}

// write writes every status that differs, as fast as it may, and returns when to go on; 0 means that nothing is left.
func (s *ingressStatus) write(ctx context.Context) time.Duration {
	addresses, reason := s.options.Addresses.now()
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
	var wait time.Duration
	for ingress := range s.options.Addresses.ingresses.Claimed() {
		now := time.Now()
		before, known := s.sent[ingress.UID]
		again := before.when.Add(rewriteAfter).Sub(now)
		if known && (again > 0 || before.version == ingress.ResourceVersion) {
			sent[ingress.UID] = before
		}
		switch {
		case slices.Equal(shown(ingress), addresses) || known && before.version == ingress.ResourceVersion:
			continue // The watch is about to show what was written, if it does not yet.
		case known && again > 0 && slices.Equal(before.addresses, addresses):
			wait = earlier(wait, again)
			continue
		case now.Before(s.until[ingress.Namespace]) || ctx.Err() != nil:
			continue
		}
		if full := s.limit.wait(now); full > 0 {
			wait = earlier(wait, full)
			continue
		}
		s.limit.take()
		switch err := s.patch(ctx, ingress, addresses); {
		case err == nil:
			sent[ingress.UID] = written{ingress.ResourceVersion, now, addresses}
		case apierrors.IsForbidden(err):
			s.until[ingress.Namespace] = now.Add(pauseAfterRefusal)
		case !hopeless(err):
			wait = earlier(wait, pauseAfterFailure)
		}
	}
	return wait
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
	s.refused.note("patch", "ingresses/status."+networkingv1.GroupName, ingress.Namespace, err)
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
