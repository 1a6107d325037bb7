package ingressnginx

import (
	"reflect"
	"slices"
	"strings"
	"time"

	ptypes "github.com/traefik/paerser/types"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// upstreamPlan is how the endpoints of a Service's port are chosen, as far as several Ingresses decide about it. It is
// compared with reflect.DeepEqual, as serverPlan is, and not changed once it is made.
type upstreamPlan struct {
	// Native uses the address of the Service.
	Native bool
	// EWMA, HashBy and SubsetSize are as in annotation.Backend.
	EWMA       bool
	HashBy     string
	SubsetSize int
	// Cookie is that of the last Ingress with affinity; nil when none has it.
	Cookie     *annotation.Cookie
	Persistent bool
	// Alternative is the port of the canary's Service; zero for none. Policy is what it gets; LegacyCanary is as in
	// annotation.Affinity.
	Alternative  serviceKey
	Policy       annotation.Canary
	LegacyCanary bool
}

// upstreamOf returns the plan of a port of a Service. A source that calls it needs upstreamPlanSource(key).
func (p *Provider) upstreamOf(key serviceKey) *upstreamPlan {
	if known := p.upstreams[key]; known != nil {
		return known
	}
	plan := p.makeUpstream(key, &translation.Result{})
	p.upstreams[key] = plan
	return plan
}

// translateUpstream makes the plan of a port of a Service, and has the locations translated again that lead there when
// it is another one.
func (p *Provider) translateUpstream(source translation.Source) (result translation.Result, ok bool) {
	at := strings.LastIndexByte(source.Name, ':')
	key := serviceKey{source.Namespace, source.Name[:at], source.Name[at+1:]}
	plan := p.makeUpstream(key, &result)
	before := p.upstreams[key]
	if before != nil && !reflect.DeepEqual(before, plan) {
		p.retouch(upstreamPlanSource(key))
	}
	if len(p.index.ofService(key)) == 0 && !p.memory.Needed(upstreamPlanSource(key)) {
		delete(p.upstreams, key)
		return result, false
	}
	p.upstreams[key] = plan
	return result, true
}

// makeUpstream returns the plan of a port of a Service, and adds what it depends on to a result. The first Ingress that
// leads there decides, or the last one whose default backend it is.
func (p *Provider) makeUpstream(key serviceKey, result *translation.Result) *upstreamPlan {
	result.Needs = append(result.Needs, settingsInForceSource())
	ingresses := p.claimed(p.index.ofService(key), result)
	var decides *annotation.Options
	for _, ingress := range ingresses {
		if decides == nil || isDefault(ingress, key) {
			decides = p.read(ingress).options
		}
	}
	if decides == nil {
		decides = p.defaults
	}
	plan := &upstreamPlan{
		Native: decides.Backend.ServiceUpstream, EWMA: decides.Backend.EWMA, HashBy: decides.Backend.HashBy,
		SubsetSize: decides.Backend.SubsetSize,
	}
	if decides.Canary.Enabled {
		return plan
	}
	mode := ""
	for _, ingress := range ingresses {
		affinity := &p.read(ingress).options.Affinity
		if !hasPath(ingress, key) {
			continue
		}
		if mode == "" {
			mode = affinity.Mode
		}
		if affinity.Cookie != nil {
			plan.Cookie = affinity.Cookie
		}
	}
	plan.Persistent = plan.Cookie != nil && mode == "persistent"
	p.addCanary(plan, key, ingresses, result)
	return plan
}

// isDefault reports whether a port of a Service is the default backend of an Ingress.
func isDefault(ingress *networkingv1.Ingress, key serviceKey) bool {
	own, given := serviceOf(ingress.Namespace, ingress.Spec.DefaultBackend)
	return given && own == key
}

// hasPath reports whether a path of an Ingress leads to a port of a Service.
func hasPath(ingress *networkingv1.Ingress, key serviceKey) bool {
	return slices.ContainsFunc(ingress.Spec.Rules, func(rule networkingv1.IngressRule) bool {
		return rule.HTTP != nil && slices.ContainsFunc(rule.HTTP.Paths, func(path networkingv1.HTTPIngressPath) bool {
			own, given := serviceOf(ingress.Namespace, &path.Backend)
			return given && own == key
		})
	})
}

// planOfUpstream returns the plan of a port of a Service for the location.
func (d *locationDraft) planOfUpstream(key serviceKey) *upstreamPlan {
	d.result.Needs = append(d.result.Needs, upstreamPlanSource(key))
	return d.provider.upstreamOf(key)
}

// protocol is how endpoints are spoken to.
func (d *locationDraft) protocol() {
	switch d.options.Backend.Protocol {
	case "HTTPS", "GRPCS":
		d.reference.Scheme = "https"
	case "GRPC":
		d.reference.Scheme = "h2c"
	case "AUTO_HTTP":
		d.reference.Scheme = d.scheme()
	}
}

// balance chooses the endpoint.
func (d *locationDraft) balance() {
	if d.reference.Balancer != nil {
		d.spread(d.key, &d.reference)
	}
}

// spread sets how one of the endpoints of a port of a Service is chosen.
func (d *locationDraft) spread(key serviceKey, reference *backend.Reference) {
	plan := d.planOfUpstream(key)
	if plan.Native && d.hasAddress(key) {
		reference.NativeLB = &plan.Native
	}
	balancer := reference.Balancer
	switch {
	case plan.Cookie != nil:
	case plan.HashBy != "":
		expression, err := d.text(plan.HashBy, false)
		if err != nil {
			d.degrade(dynamic.CodeInvalidOption, "upstream-hash-by: "+err.Error()+"; endpoints get requests in turn", false)
			return
		}
		d.hashedAfterEdits(expression)
		if client, _ := d.clientAddress(); client != nil {
			// It is the address of the connection where endpoints are chosen.
			expression = strings.NewReplacer("${remote_addr}", realIP, "$remote_addr", realIP).Replace(expression)
		}
		unbounded := 0
		balancer.Strategy = dynamic.StrategyHash
		balancer.Hash = &dynamic.HashStrategy{
			Source: dynamic.HashExpression, Expression: expression, SubsetSize: plan.SubsetSize, BoundedLoad: &unbounded,
		}
	case plan.EWMA:
		balancer.Strategy = dynamic.StrategyPeakEWMA
	}
}

// realIP has the address of the client, see forwardedHeaders.
const realIP = "${http_x_real_ip}"

// hashedAfterEdits adds a verdict on a key with what is edited before an endpoint is chosen. nginx has the request of the
// client.
func (d *locationDraft) hashedAfterEdits(expression string) {
	if one := d.location(); one.Rewrite && !one.Plain && strings.Contains(expression, "request_uri") {
		d.degrade(dynamic.CodeUnsupportedOption, "upstream-hash-by: $request_uri has the path that rewrite-target makes", false)
	}
	if d.options.Backend.Host != "" && (strings.Contains(expression, "$host") || strings.Contains(expression, "${host}") ||
		strings.Contains(expression, "http_host")) {
		d.degrade(dynamic.CodeUnsupportedOption, "upstream-hash-by: the host is that of upstream-vhost", false)
	}
}

// hasAddress reports whether a Service has an address of its own; else its endpoints are used.
func (d *locationDraft) hasAddress(key serviceKey) bool {
	d.need(backend.KindService, key.Namespace, key.Service)
	service := d.provider.watches.Service(key.Namespace, key.Service)
	return service != nil && service.Spec.ClusterIP != "" && service.Spec.ClusterIP != corev1.ClusterIPNone
}

// mostAttempts is how often another endpoint gets a request at most, where there is no limit.
const mostAttempts = 100

// nextUpstream says when another endpoint gets the request.
func (d *locationDraft) nextUpstream() {
	if d.reference.Balancer != nil {
		d.reference.Balancer.Retry = retryOf(&d.options.Proxy)
	}
}

// retryOf returns when another endpoint gets the request. An endpoint may get it again, as in nginx, where the turns of
// endpoints go on.
func retryOf(proxy *annotation.Proxy) *dynamic.ServerRetry {
	next := &proxy.NextUpstream
	retry := &dynamic.ServerRetry{}
	retry.SetDefaults()
	attempts := min(next.Tries-1, mostAttempts)
	if next.Tries <= 0 {
		attempts = mostAttempts
	}
	retry.Attempts = &attempts
	for _, condition := range next.Conditions {
		switch condition {
		case "error":
			retry.RetryOn = append(retry.RetryOn, dynamic.RetryOnError)
		case "timeout":
			retry.RetryOn = append(retry.RetryOn, dynamic.RetryOnTimeout)
		case "invalid_header":
			retry.RetryOn = append(retry.RetryOn, dynamic.RetryOnInvalidHeader)
		default:
			retry.Status = append(retry.Status, strings.TrimPrefix(condition, "http_"))
		}
	}
	if len(next.Conditions) == 0 {
		attempts = 0
	}
	if attempts == 0 {
		retry.RetryOn, retry.Status = nil, nil
		return retry
	}
	retry.DisableRetryOnNetworkError = len(retry.RetryOn) == 0
	unlimited, kept := -1, int64(0)
	if proxy.RequestBuffering {
		const most = 64 << 20
		if kept = proxy.BodySize; kept == 0 || kept > most {
			kept = most
		}
	}
	retry.BudgetPercent, retry.MaxRequestBodyBytes = &unlimited, &kept
	retry.SameServer, retry.RetryNonIdempotentMethod = true, next.NonIdempotent
	retry.Timeout = ptypes.Duration(next.Timeout)
	if slices.Contains(retry.RetryOn, dynamic.RetryOnTimeout) {
		retry.PerTryTimeout = ptypes.Duration(proxy.ReadTimeout)
	}
	return retry
}

// longestWait returns how long all attempts together may take until a response begins; 0 where a single one counts.
func longestWait(retry *dynamic.ServerRetry) time.Duration {
	return time.Duration(retry.PerTryTimeout) * time.Duration(*retry.Attempts+1)
}
