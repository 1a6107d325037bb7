// Package migrate compares what ingress-nginx answers with what another proxy answers that has the same Ingresses.
package migrate

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/migrate/report"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// Options are what is compared.
type Options struct {
	// Model is the model of ingress-nginx. It is the origin of the probes.
	Model *nginxmodel.Model
	// Reference answers what is wanted; nil for Model.
	Reference answer.Answerer
	// Subject answers what is judged; nil for a report without probes.
	Subject answer.Answerer
	// Select says which hosts are probed, by their names in the model; nil for all.
	Select func(host string) bool
	// PerHost is the number of probes per host; 0 for [probe.DefaultPerHost].
	PerHost int
	// Parallel is the number of hosts that are probed at a time; 0 for 1.
	Parallel int
	// Skip says which probes are left out; nil for none. They are counted.
	Skip func(probe.Probe) bool
	// Context is what the report says beside.
	Context report.Context
	// Verdicts are those of Sluice on what it makes of the Ingresses; nil when they are not known.
	Verdicts []dynamic.Verdict
	// rejected is why ingress-nginx does not accept Ingresses, closed why Sluice answers 503 in their place, where it does
	// not say that itself.
	rejected, closed map[string]string
}

// Report probes all hosts and returns the report. The error is that of the context.
func Report(ctx context.Context, options Options) (*report.Report, error) {
	if options.Reference == nil {
		options.Reference = options.Model
	}
	options.rejected, options.closed = map[string]string{}, map[string]string{}
	for _, one := range options.Model.Ingresses() {
		options.rejected[one.Key] = one.Rejected
		for _, finding := range one.Findings {
			if finding.Closes() && options.closed[one.Key] == "" {
				options.closed[one.Key] = strings.TrimPrefix(finding.Key, annotation.Prefix) + ": " + finding.Reason
			}
		}
	}
	options.Context.Proposals, options.Context.Verdicts = proposals(options.Model), options.Verdicts
	hosts := options.Model.Hosts()
	results := make([]report.Probed, len(hosts))
	slots := make(chan struct{}, max(options.Parallel, 1))
	var running sync.WaitGroup
	for i := range hosts {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			results[i] = options.host(ctx, hosts[i])
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return report.New(options.Model, results, options.Context), nil
}

// Count returns how many probes are sent.
func (o *Options) Count() int {
	count := 0
	for _, host := range o.Model.Hosts() {
		for _, one := range o.probes(host).Probes {
			if o.Skip == nil || !o.Skip(one) {
				count++
			}
		}
	}
	return count
}

// probes returns the probes of a host.
func (o *Options) probes(host probe.Host) probe.Set {
	if o.Select != nil && !o.Select(host.Name) {
		return probe.Set{}
	}
	return probe.Generate(host, cmp.Or(o.PerHost, probe.DefaultPerHost))
}

// host probes one host.
func (o *Options) host(ctx context.Context, host probe.Host) report.Probed {
	out := report.Probed{Host: host.Name}
	if o.Subject == nil {
		return out
	}
	set := o.probes(host)
	out.Omitted = set.Omitted
	for _, one := range set.Probes {
		if ctx.Err() != nil {
			return out
		}
		if o.Skip != nil && o.Skip(one) {
			out.Skipped++
			continue
		}
		out.Probes++
		want, err := o.Reference.Answer(ctx, one)
		if err != nil {
			out.Fail(one, "reference: "+err.Error())
			continue
		}
		got, err := o.Subject.Answer(ctx, one)
		if err != nil {
			out.Fail(one, err.Error())
			continue
		}
		if differences := answer.Compare(want, got); len(differences) > 0 {
			out.Add(o.attribute(ctx, one, want, got, differences))
		}
	}
	return out
}

// attribute names the Ingress and the step that decide. Where the reference does not say them, they are those of the
// model.
func (o *Options) attribute(
	ctx context.Context, one probe.Probe, want, got answer.Answer, differences []answer.Difference,
) *report.Difference {
	found := &report.Difference{Probe: one, Fields: differences, Want: want, Got: got, Ingress: want.Ingress}
	if found.Ingress == "" && o.Reference != answer.Answerer(o.Model) {
		if modelled, err := o.Model.Answer(ctx, one); err == nil {
			found.Ingress, found.Decided = modelled.Ingress, modelled.Step
		}
	}
	found.Ingress = cmp.Or(found.Ingress, one.Ingress)
	switch is503 := got.Status == http.StatusServiceUnavailable && got.Upstream == nil; {
	case is503 && got.Reason != "":
		found.Why = got.Reason
	case is503 && want.Status != got.Status:
		found.Why = o.closed[found.Ingress]
	case o.rejected[one.Ingress] != "":
		found.Why = "ingress-nginx does not accept the Ingress, and serves what it has accepted last, if anything: " +
			o.rejected[one.Ingress]
	}
	if found.Step() == answer.Parse && got.Upstream != nil {
		found.Resolved = o.resolves(ctx, one, got)
	}
	return found
}

// resolves reports whether an answer is that of ingress-nginx to the same request without dot segments in its path.
func (o *Options) resolves(ctx context.Context, one probe.Probe, got answer.Answer) bool {
	target, query, _ := strings.Cut(one.Target, "?")
	target = strings.NewReplacer("%2e", ".", "%2E", ".").Replace(target)
	one.Target = path.Clean("/" + target)
	if query != "" {
		one.Target += "?" + query
	}
	want, err := o.Model.Answer(ctx, one)
	return err == nil && want.Upstream != nil && len(answer.Compare(want, got)) == 0
}
