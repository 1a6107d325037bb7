package router

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware"
)

// judge notes what became of one object.
func (c *Compiler) judge(ref dynamic.Ref) {
	var fault error
	var warnings []string
	code := dynamic.CodeIneffectiveOption // That of the first warning.
	switch ref.Kind {
	case dynamic.KindMiddleware:
		if node := c.middlewares[ref.Name]; node != nil {
			fault, warnings = node.err, node.warnings
		}
	case dynamic.KindServersTransport:
		if node := c.transports[ref.Name]; node != nil {
			fault, warnings = node.err, node.warnings
		}
	case dynamic.KindService:
		if node := c.services[ref.Name]; node != nil {
			fault, warnings = node.err, node.warnings
		}
	case dynamic.KindTCPMiddleware:
		if node := c.tcp.middlewares[ref.Name]; node != nil {
			fault, warnings = node.err, node.warnings
		}
	case dynamic.KindTCPServersTransport:
		if node := c.tcp.transports[ref.Name]; node != nil {
			fault, warnings = node.err, node.warnings
		}
	case dynamic.KindTCPService:
		if node := c.tcp.services.nodes[ref.Name]; node != nil {
			fault, warnings = node.err, node.warnings
		}
	case dynamic.KindUDPService:
		if node := c.udp.services.nodes[ref.Name]; node != nil {
			fault, warnings = node.err, node.warnings
		}
	case dynamic.KindUDPRouter:
		if node := c.udp.routers[ref.Name]; node != nil {
			fault, warnings, code = cmp.Or(node.err, node.late), node.warnings, cmp.Or(node.warningCode, code)
		}
	case dynamic.KindTCPRouter:
		if node := c.tcp.routers[ref.Name]; node != nil {
			fault, warnings, code = cmp.Or(node.err, node.late), node.warnings, cmp.Or(node.warningCode, code)
		}
	case dynamic.KindListener:
		if node := c.listeners.all[ref.Name]; node != nil {
			fault, warnings = node.err, node.warnings
		}
	case dynamic.KindRouter:
		if node := c.routers[ref.Name]; node != nil {
			fault, warnings, code = cmp.Or(node.err, node.late), node.warnings, cmp.Or(node.warningCode, code)
		}
	}
	switch {
	case c.source.config.Object(ref) == nil || fault == nil && len(warnings) == 0:
		delete(c.faults, ref)
	case fault != nil:
		c.faults[ref] = quarantine(ref, fault)
	default:
		c.faults[ref] = dynamic.Verdict{
			Ref: ref, Status: dynamic.Degraded, Code: code, Reason: strings.Join(warnings, "; "),
		}
	}
}

// quarantine returns the verdict on an object with a fault.
func quarantine(ref dynamic.Ref, fault error) dynamic.Verdict {
	code, cause := dynamic.CodeInvalidOption, dynamic.Ref{}
	if known, ok := errors.AsType[*coded](fault); ok {
		code, cause = known.code, known.cause
	} else if errors.Is(fault, errUnguarded) {
		code = dynamic.CodeUnguarded
	} else if _, ok := errors.AsType[*nesting](fault); ok {
		code = dynamic.CodeReferenceLoop
	} else if _, ok := errors.AsType[*middleware.UnsupportedError](fault); ok {
		code = dynamic.CodeUnsupportedOption
	}
	return dynamic.Verdict{
		Ref: ref, Status: dynamic.Quarantined, Code: code, Reason: fault.Error(), Missing: errors.Is(fault, errMissing),
		Cause: cause,
	}
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
	if verdict := c.table.uncovered; verdict.Reason != "" {
		known, again := found[verdict.Ref]
		switch {
		case again && known.Status == dynamic.Degraded:
			verdict.Reason += "; " + known.Reason
			fallthrough
		case !again:
			found[verdict.Ref] = verdict
		}
	}
	for _, verdict := range slices.Concat(c.table.conflictVerdicts(), c.table.unreachableVerdicts(), c.table.overruled) {
		found[verdict.Ref] = verdict
	}
	for ref, verdict := range c.faults {
		if conflict, again := found[ref]; again && verdict.Status == dynamic.Degraded {
			verdict.Code, verdict.Reason = conflict.Code, conflict.Reason+"; "+verdict.Reason
		}
		found[ref] = verdict
	}
	for ref := range c.source.refusal {
		delete(found, ref)
	}
	c.suggest(found)
	return slices.SortedFunc(maps.Values(found), func(a, b dynamic.Verdict) int {
		return cmp.Or(cmp.Compare(a.Ref.Kind, b.Ref.Kind), cmp.Compare(a.Ref.Name, b.Ref.Name))
	})
}
