package stream

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
)

// allowList is the middleware ipAllowList, or ipWhiteList, its deprecated name.
type allowList struct {
	kind    string
	allowed forwarded.Trust
}

// newAllowList checks that sourceRange names at least one address or prefix.
func newAllowList(kind string, config *dynamic.TCPIPAllowList) (*allowList, error) {
	if len(config.SourceRange) == 0 {
		return nil, errors.New(kind + ".sourceRange is empty: no client would be allowed")
	}
	allowed, err := forwarded.NewTrust(config.SourceRange)
	if err != nil {
		return nil, fmt.Errorf("%s.sourceRange: %w", kind, err)
	}
	return &allowList{kind: kind, allowed: allowed}, nil
}

// Warnings reports the deprecated name.
func (l *allowList) Warnings() []string {
	if l.kind == "ipWhiteList" {
		return []string{"ipWhiteList is deprecated: ipAllowList takes the same options"}
	}
	return nil
}

// Admit refuses clients that are not in the list, and those of unknown address.
func (l *allowList) Admit(client netip.Addr) (release func(), refusal Refusal) {
	switch {
	case !client.IsValid():
		return nil, forbidden("the address of the client is unknown")
	case !l.allowed.Contains(client):
		return nil, forbidden("the address of the client is not in sourceRange")
	}
	return nil, Refusal{}
}
