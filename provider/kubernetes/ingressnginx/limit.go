package ingressnginx

import (
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// rates limits requests per second and per minute of each address, over all locations of the Ingress.
func (d *locationDraft) rates() {
	limit := &d.options.Limit
	d.rate("rps", limit.PerSecond, time.Second)
	d.rate("rpm", limit.PerMinute, time.Minute)
}

// rate limits requests in a period. nginx lets a burst pass beside the request that the rate allows.
func (d *locationDraft) rate(kind string, of annotation.Rate, period time.Duration) {
	if of.Limit <= 0 {
		return
	}
	d.useOwn(phaseLimit, kind, &dynamic.Middleware{RateLimit: &dynamic.RateLimit{
		Average: int64(of.Limit), Period: ptypes.Duration(period), Burst: int64(of.Burst) + 1, NoDelay: true, Shared: true,
		StatusCode: d.settings().RateStatus, SourceCriterion: d.byAddress(), ExcludedSourceRange: d.options.Limit.Allow,
	}})
}

// connections limits requests in flight of each address, over all locations of the Ingress.
func (d *locationDraft) connections() {
	limit := &d.options.Limit
	if limit.Connections <= 0 {
		return
	}
	d.useOwn(phaseLimit, "connections", &dynamic.Middleware{InFlightReq: &dynamic.InFlightReq{
		Amount: int64(limit.Connections), Shared: true, StatusCode: d.settings().ConnectionStatus,
		SourceCriterion: d.byAddress(), ExcludedSourceRange: limit.Allow,
	}})
}

// byAddress groups requests by the address of the client. Where that cannot be found, all clients of a proxy are one,
// unless a proxy might be without limit, which closes the location.
func (d *locationDraft) byAddress() *dynamic.SourceCriterion {
	strategy, problem := d.clientAddress()
	switch {
	case problem != "" && len(d.options.Limit.Allow) > 0:
		d.refuse(dynamic.CodeInvalidOption, "limit-allowlist: "+problem, false)
	case problem != "":
		d.degrade(dynamic.CodeInvalidOption, "all clients of a proxy have one limit together: "+problem, false)
	}
	if strategy == nil {
		strategy = &dynamic.IPStrategy{}
	}
	return &dynamic.SourceCriterion{IPStrategy: strategy}
}

// bandwidth limits the rate of a response. The default response is not limited.
func (d *locationDraft) bandwidth() {
	limit := &d.options.Limit
	if d.ingress == nil || limit.BytesPerSecond <= 0 {
		return
	}
	d.use(phaseBandwidth, "bandwidth", &dynamic.Middleware{BandwidthLimit: &dynamic.BandwidthLimit{
		BytesPerSecond: limit.BytesPerSecond, After: limit.BytesAfter,
	}})
}
