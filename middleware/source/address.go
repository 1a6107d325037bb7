package source

import (
	"fmt"
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Address finds the address of the client of a request, for the variable $remote_addr. The zero value takes that of the
// connection.
type Address struct {
	strategy forwarded.ClientStrategy
	set      bool
}

// NewAddress checks an ipStrategy; nil is the connection. An error begins with the option, such as
// "authRequest.ipStrategy".
func NewAddress(option string, config *dynamic.IPStrategy) (Address, error) {
	if config == nil {
		return Address{}, nil
	}
	strategy, err := Client(config)
	if err != nil {
		return Address{}, fmt.Errorf("%s.%w", option, err)
	}
	return Address{strategy, true}, nil
}

// Of returns the address without port. It is that of the connection where the strategy finds none.
func (a *Address) Of(r *http.Request) string {
	if a.set {
		if found, ok := a.strategy.Client(r); ok {
			return found.String()
		}
	}
	return telemetry.RecordFrom(r.Context()).Client
}
