package ingressnginx

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
)

const (
	// longestHost bounds the names of hosts in bytes (RFC 1035).
	longestHost = 255
	// mostWeight bounds the instructions of all aliases that are expressions, which are in one rule.
	mostWeight = 16 << 10
)

// fitAliases leaves out aliases that no rule can have, or no request: all of a kind are in one rule, which would be
// lost with them. So are those that are too many for the locations, which belong to other Ingresses too.
func (p *planner) fitAliases() {
	var faults []string
	wrong, weight := 0, 0
	fitting := slices.DeleteFunc(p.plan.Aliases, func(alias string) bool {
		cost, err := aliasCost(alias)
		if err == nil && weight+cost > mostWeight {
			err = errors.New("the expressions repeat too much")
		}
		if err == nil {
			weight += cost
			return false
		}
		if wrong++; wrong == 1 {
			faults = append(faults, fmt.Sprintf("%.80q is left out: %v", alias, err))
		}
		return true
	})
	if wrong > 1 {
		faults = append(faults, strconv.Itoa(wrong-1)+" more are left out, which are neither hosts nor expressions of rules")
	}
	count := len(fitting)
	for backend.Excess(len(p.plan.Locations), count) != nil {
		count /= 2
	}
	if count < len(fitting) {
		faults = append(faults, fmt.Sprintf("%d are left out, since the host has %d locations: too many names in all",
			len(fitting)-count, len(p.plan.Locations)))
	}
	p.plan.Aliases, p.plan.AliasFaults = fitting[:count], faults
}

// aliasCost returns the instructions of an alias that is an expression, or why a rule cannot have an alias.
func aliasCost(alias string) (int, error) {
	name := alias
	switch aliasKind(alias) {
	case expressionName:
		return expressionCost(alias[1:])
	case leadingWildcard:
		name = alias[len("*."):]
		if last := name[strings.LastIndexByte(name, '.')+1:]; strings.Trim(last, "0123456789") == "" {
			return 0, errors.New("it is no host")
		}
	case trailingWildcard:
		name = strings.TrimSuffix(alias, ".*")
	default:
		inner, opened := strings.CutPrefix(name, "[")
		if inner, closed := strings.CutSuffix(inner, "]"); opened == closed {
			if _, err := netip.ParseAddr(inner); err == nil {
				return 0, nil
			}
		}
	}
	if !validHost(name) {
		return 0, errors.New("it is no host")
	}
	return 0, nil
}

// validHost reports whether a name has labels of letters, digits, hyphens and underscores.
func validHost(name string) bool {
	if len(name) > longestHost {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || strings.Trim(lower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// expressionCost compiles an expression as a rule does.
func expressionCost(pattern string) (int, error) {
	if pattern == "" {
		return 0, errors.New("the expression is empty")
	}
	if strings.ContainsFunc(pattern, func(r rune) bool { return r >= 0x80 }) {
		return 0, errors.New("hosts are ASCII")
	}
	for rest := pattern; ; {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		if after == "" || after[0] < '0' || after[0] > '9' { // Rules take it for a template.
			return 0, errors.New("braces are supported for repetitions only")
		}
		rest = after
	}
	compiled, err := pcre.Compile(pattern, 0)
	if err != nil {
		return 0, err
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return 0, err
	}
	return compiled.Weight(), nil
}
