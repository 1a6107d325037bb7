package process

import (
	"cmp"
	"maps"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/router"
)

// explain adds why a request is answered 503, if that is for an object that is quarantined.
func (p *Process) explain(one probe.Probe, got *answer.Answer) {
	question := router.Question{
		Method: one.Method, URL: one.Scheme + "://" + one.Host + one.Target, Header: maps.Clone(one.Header),
		EntryPoint: one.Scheme, Client: cmp.Or(one.Client, probe.DefaultClient),
	}
	found, err := p.target.Table().Explain(question)
	if err != nil || found.Router == nil {
		return
	}
	reason, disabled := strings.CutPrefix(found.Reason, "the router is disabled: ")
	if disabled {
		got.Step, got.Reason = answer.Denied, cmp.Or(p.closed[found.Router.Name], reason)
	}
}
