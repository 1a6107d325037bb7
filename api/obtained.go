package api

import (
	"math/big"
	"time"

	"github.com/sluiceproxy/sluice/certificate/acme"
)

// obtained is the state of a certificate that a resolver has obtained.
type obtained struct {
	Resolver string        `json:"resolver"`
	State    string        `json:"state"`
	Renew    time.Time     `json:"renew,omitzero"`
	Next     time.Time     `json:"next,omitzero"`
	Failures int           `json:"failures,omitempty"`
	Last     *acme.Failure `json:"last,omitempty"`
	Routers  []string      `json:"routers,omitempty"`
}

// obtainedStates are the states of the certificates of resolvers by their serial number in decimal.
type obtainedStates map[string][]*acme.Status

// obtained returns the states of the certificates that resolvers have obtained.
func (h *handler) obtained() obtainedStates {
	if h.options.Resolvers == nil {
		return nil
	}
	states := obtainedStates{}
	for _, resolver := range h.options.Resolvers() {
		for i := range resolver.Certificates {
			one := &resolver.Certificates[i]
			if serial, ok := new(big.Int).SetString(one.Serial, 16); ok {
				states[serial.String()] = append(states[serial.String()], one)
			}
		}
	}
	return states
}

// describe adds the state of a certificate. Serial numbers are unique for each authority alone, so that the end of the
// certificate has to be the same.
func (s obtainedStates) describe(c certificate) certificate {
	for _, one := range s[c.SerialNumber] {
		if one.NotAfter.Equal(c.NotAfter) {
			c.ACME = &obtained{
				Resolver: one.Resolver, State: one.State, Renew: one.Renew, Next: one.Next, Failures: one.Failures,
				Last: one.Last, Routers: one.Routers,
			}
			break
		}
	}
	return c
}
