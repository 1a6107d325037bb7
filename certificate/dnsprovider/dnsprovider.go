// Package dnsprovider makes the DNS providers of lego by the name that dnsChallenge.provider gives.
//
// In: the name, and the environment variables of the provider, or the files that variables with the suffix _FILE name.
// Out: a provider of lego, which writes and removes TXT records. Which providers are linked is generated from lego's
// source (make generate), by the table in the folder generate; docs/certificates-dns.md lists all of them. Nothing is
// kept here. What lego keeps for the whole process, its log and its resolvers, is set by SetLogger and SetResolvers.
package dnsprovider

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-acme/lego/v5/challenge"

	"github.com/sluiceproxy/sluice/document"
)

// errNotLinked is what generated code answers to a name that it has no provider for.
var errNotLinked = errors.New("not linked")

// New makes the provider of a name, which reads its environment variables. An error says what to do: which variable is
// missing, which name is meant, or how to get a provider that this build does not have. A few providers ask servers of
// their clouds for credentials here, which takes up to some seconds.
func New(name string) (challenge.Provider, error) {
	provider, err := newLinked(name)
	switch {
	case err == nil:
		return provider, nil
	case errors.Is(err, errNotLinked):
		return nil, absence(name)
	}
	return nil, fmt.Errorf("the DNS provider %q: %w", name, err)
}

// Names lists the names of the providers that are linked into this build, with their aliases, in order.
func Names() []string {
	names := linkedNames()
	if tagged {
		names = append(names, taggedNames()...)
	}
	slices.Sort(names)
	return names
}

// elsewhere is how to use a provider that is not linked.
const elsewhere = "use the provider exec with a program of yours, such as lego's own, or httpreq with a server"

// absence is the error about a name without a linked provider.
func absence(name string) error {
	if name == "" {
		return errors.New("no DNS provider is named")
	}
	if successor, gone := removed()[name]; gone {
		if successor == "" {
			return fmt.Errorf("the DNS provider %q has ended, and lego has removed it: %s", name, elsewhere)
		}
		if !slices.Contains(Names(), successor) {
			return fmt.Errorf("the DNS provider %q is now %q: %w", name, successor, absence(successor))
		}
		return fmt.Errorf("the DNS provider %q is now %q, whose environment variables may differ", name, successor)
	}
	if slices.Contains(taggedNames(), name) {
		return fmt.Errorf("the DNS provider %q is not linked into this build, because it needs large libraries: "+
			"build with the tag sluice_dns_all, or %s", name, elsewhere)
	}
	if module := missingModule(name); module != "" {
		return fmt.Errorf("the DNS provider %q is not linked into any build, because the module %s cannot be downloaded: %s",
			name, module, elsewhere)
	}
	if near, ok := document.Nearest(name, known()); ok {
		return fmt.Errorf("unknown DNS provider %q, did you mean %q?", name, near)
	}
	return fmt.Errorf("unknown DNS provider %q", name)
}

// removed lists the names that lego has removed, and what they were replaced by; empty if the service has ended.
func removed() map[string]string {
	return map[string]string{
		"azure":         "azuredns",
		"brandit":       "",
		"cloudxns":      "",
		"dnspod":        "tencentcloud",
		"googlecloud":   "gcloud",
		"googledomains": "",
		"iij":           "iijdpf",
		"iwantmyname":   "",
		"stackpath":     "",
	}
}

// known lists all names that New has a particular answer to, linked ones first.
func known() []string {
	return slices.Concat(linkedNames(), taggedNames(), missingNames())
}
