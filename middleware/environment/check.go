package environment

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/forwarded"
)

// headers checks the options header and aliases. It returns the header alone, and the header and the aliases.
func headers(config *dynamic.EnvironmentMiddleware) (header, removed []string, err error) {
	if err := checkHeader(config.Header); err != nil {
		return nil, nil, fmt.Errorf("environment.header %w", err)
	}
	header = []string{http.CanonicalHeaderKey(config.Header)}
	removed = slices.Clone(header)
	for i, alias := range config.Aliases {
		if err := checkHeader(alias); err != nil {
			return nil, nil, fmt.Errorf("environment.aliases[%d] %w", i, err)
		}
		removed = append(removed, http.CanonicalHeaderKey(alias))
	}
	return header, removed, nil
}

// checkHeader refuses an invalid name, and the names of headers that servers need, or that identify the client.
func checkHeader(name string) error {
	if !httpguts.ValidHeaderFieldName(name) {
		return fmt.Errorf("%q is not the name of a header", name)
	}
	switch http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")) {
	case "Authorization", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie", "Expect", "Host",
		"Http2-Settings", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return fmt.Errorf("%s has a meaning of its own", name)
	}
	if forwarded.IsManaged(name) {
		return fmt.Errorf("%s identifies the client", name)
	}
	return nil
}

// newSources checks the options of sources.
func newSources(config *dynamic.EnvironmentSources) (sources, error) {
	if config == nil {
		return sources{}, nil
	}
	s := sources{query: config.Query, cookie: config.Cookie}
	if strings.ContainsFunc(s.query, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return sources{}, errors.New("environment.sources.query has a control character")
	}
	if s.cookie != "" && !httpguts.ValidHeaderFieldName(s.cookie) {
		return sources{}, fmt.Errorf("environment.sources.cookie %q is not the name of a cookie", s.cookie)
	}
	var err error
	if s.path, err = newPath(config.Path); err != nil {
		return sources{}, fmt.Errorf("environment.sources.path %w", err)
	}
	if config.HostSplitter != "" && config.Host == "" {
		return sources{}, errors.New("environment.sources.hostSplitter is set without environment.sources.host")
	}
	if s.host, err = newHostPattern(config.Host, config.HostSplitter); err != nil {
		return sources{}, fmt.Errorf("environment.sources.%w", err)
	}
	return s, nil
}

// newPath returns the escaped prefix before the tag in a pattern; empty without a pattern.
func newPath(pattern string) (string, error) {
	if pattern == "" {
		return "", nil
	}
	before, found := strings.CutSuffix(pattern, "/"+placeholder)
	switch {
	case !found || strings.Contains(before, placeholder):
		return "", fmt.Errorf("%q does not end with /%s, or has %s before", pattern, placeholder, placeholder)
	case before == "":
		return "", fmt.Errorf("%q would take the first segment of every path for a tag", pattern)
	case before[0] != '/':
		return "", fmt.Errorf("%q does not begin with a slash, so no path begins with it", pattern)
	}
	prefix, err := canonical.Literal(before)
	if err != nil {
		return "", fmt.Errorf("%q: %w", pattern, err)
	}
	return strings.TrimSuffix(prefix, "/") + "/", nil
}

// effects checks the options untrusted, default and stamp. stamp is the tag of requests without one, or empty.
func effects(config *dynamic.EnvironmentMiddleware) (forbid bool, stamp string, err error) {
	switch config.Untrusted {
	case dynamic.UntrustedRemove:
	case dynamic.UntrustedForbid:
		forbid = true
	default:
		return false, "", fmt.Errorf("environment.untrusted %q is none of remove, forbid", config.Untrusted)
	}
	if config.Default != "" && !environment.ValidTag(config.Default) {
		return false, "", fmt.Errorf("environment.default %q is not the value of a Kubernetes label", config.Default)
	}
	switch {
	case config.Stamp == dynamic.StampNever:
		return forbid, "", nil
	case config.Stamp != dynamic.StampDefault:
		return false, "", fmt.Errorf("environment.stamp %q is none of never, default", config.Stamp)
	case config.Default == "":
		return false, "", errors.New("environment.stamp is default, and environment.default is empty")
	}
	return forbid, config.Default, nil
}

// warnings returns valid options without the apparent effect.
func warnings(config *dynamic.EnvironmentMiddleware) []string {
	var found []string
	t := config.Trust
	untrusting := t == nil || !t.Anyone && !t.Authenticated && len(t.SourceRange) == 0 && t.Signed == nil
	if untrusting && config.Sources != nil {
		found = append(found, "environment.sources is without effect, since environment.trust lets no client choose")
	} else if untrusting && t != nil {
		found = append(found, "environment.trust is empty: no client may choose")
	}
	if t != nil {
		if listed, err := forwarded.NewTrust(t.SourceRange); err == nil && listed.CoversMost() {
			found = append(found, "environment.trust.sourceRange lists half of the Internet or more; environment.trust.anyone "+
				"trusts all clients")
		}
		if t.Anyone && len(config.Aliases) > 0 && config.Stamp == dynamic.StampNever {
			found = append(found, "environment.aliases removes nothing, since environment.trust.anyone trusts all clients")
		}
	}
	if config.Default != "" && config.Stamp == dynamic.StampNever {
		found = append(found, "environment.default is without effect, since environment.stamp is never")
	}
	return found
}
