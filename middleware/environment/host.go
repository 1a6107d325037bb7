package environment

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/environment"
)

// placeholder stands for the tag in the patterns of host and path.
const placeholder = "{tag}"

// hostPattern takes the tag out of a host. It is an immutable value.
type hostPattern struct {
	set            bool
	prefix, suffix string
	splitter       string
}

// newHostPattern checks the options host and hostSplitter. The error begins with the option.
func newHostPattern(pattern, splitter string) (hostPattern, error) {
	if pattern == "" {
		return hostPattern{}, nil
	}
	before, after, found := strings.Cut(pattern, placeholder)
	switch {
	case !found || strings.Contains(after, placeholder):
		return hostPattern{}, fmt.Errorf("host %q does not have %s once", pattern, placeholder)
	case before+after == "":
		return hostPattern{}, fmt.Errorf("host %q would take every host for a tag", pattern)
	}
	const example = "x"
	host, ok := canonical.Host(before + example + after)
	if !ok || !strings.EqualFold(host, before+example+after) {
		return hostPattern{}, fmt.Errorf("host %q is not a host name without a port", pattern)
	}
	for i := range len(splitter) {
		if c := splitter[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return hostPattern{}, errors.New("hostSplitter may have lower-case letters, digits, - and _, which a label of a " +
				"host can have")
		}
	}
	return hostPattern{
		set: true, prefix: strings.ToLower(before), suffix: strings.ToLower(after), splitter: splitter,
	}, nil
}

// Tag returns the tag of a Host header, in lower case; empty if the host does not match, or has no valid tag.
func (p *hostPattern) Tag(hostport string) string {
	host, ok := canonical.Host(hostport)
	if !ok {
		return ""
	}
	rest, found := strings.CutPrefix(host, p.prefix)
	if !found {
		return ""
	}
	label, found := strings.CutSuffix(rest, p.suffix)
	if !found || strings.Contains(label, ".") {
		return ""
	}
	if p.splitter != "" {
		label = strings.ReplaceAll(label, p.splitter, ".")
	}
	if !environment.ValidTag(label) {
		return ""
	}
	return label
}
