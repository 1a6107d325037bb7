package router

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// fault is why an object is not accepted, or what it declares without effect.
type fault struct {
	err      error
	warnings []string
	// code is that of the first warning; empty means that an option has no effect.
	code dynamic.Code
}

// judge notes what became of one object.
func (c *Compiler) judge(ref dynamic.Ref) {
	found := c.faultOf(ref)
	if found.err == nil && len(found.warnings) == 0 {
		delete(c.faults, ref)
		return
	}
	c.faults[ref] = found
}

func (c *Compiler) faultOf(ref dynamic.Ref) fault {
	switch ref.Kind {
	case dynamic.KindMiddleware:
		if node := c.middlewares[ref.Name]; node != nil && c.source.middleware(ref.Name) != nil {
			return fault{err: node.err, warnings: node.warnings}
		}
	case dynamic.KindServersTransport:
		if node := c.transports[ref.Name]; node != nil && c.source.transport(ref.Name) != nil {
			return fault{err: node.err}
		}
	case dynamic.KindService:
		if node := c.services[ref.Name]; node != nil && c.source.service(ref.Name) != nil {
			return fault{err: node.err, warnings: node.warnings}
		}
	case dynamic.KindRouter:
		if node := c.routers[ref.Name]; node != nil {
			return fault{err: cmp.Or(node.err, node.late), warnings: node.warnings, code: node.warningCode}
		}
	}
	return fault{}
}

// verdicts returns every object that compiling does not accept, in the order of kind and name. What its provider has
// refused already is not judged again.
func (c *Compiler) verdicts() []dynamic.Verdict {
	found := map[dynamic.Ref]dynamic.Verdict{}
	for _, verdict := range c.tls.verdicts(c.source) {
		if known, again := found[verdict.Ref]; !again || known.Status <= verdict.Status {
			found[verdict.Ref] = verdict
		}
	}
	for _, verdict := range c.table.conflictVerdicts() {
		found[verdict.Ref] = verdict
	}
	for ref, fault := range c.faults {
		verdict := dynamic.Verdict{Ref: ref, Status: dynamic.Degraded}
		verdict.Code = cmp.Or(fault.code, dynamic.CodeIneffectiveOption)
		verdict.Reason = strings.Join(fault.warnings, "; ")
		if fault.err != nil {
			verdict.Status, verdict.Code, verdict.Reason = dynamic.Quarantined, codeOf(fault.err), fault.err.Error()
			verdict.Missing = errors.Is(fault.err, errMissing)
		}
		found[ref] = verdict
	}
	for ref := range c.source.refusal {
		delete(found, ref)
	}
	verdicts := make([]dynamic.Verdict, 0, len(found))
	for _, verdict := range found {
		verdicts = append(verdicts, verdict)
	}
	slices.SortFunc(verdicts, func(a, b dynamic.Verdict) int {
		return cmp.Or(cmp.Compare(a.Ref.Kind, b.Ref.Kind), cmp.Compare(a.Ref.Name, b.Ref.Name))
	})
	return verdicts
}
