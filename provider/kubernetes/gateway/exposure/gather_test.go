package exposure_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// TestNewGatewaysDoNotWaitForever proves that Gateways get their addresses while further ones appear without a pause.
func TestNewGatewaysDoNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newAPIServer(t), config(static.ExposeByPool, "192.0.2.0/24"))
		r.lead()
		first := made("first", 0)
		r.expose(first, web)
		for i := range 50 {
			pass(50 * time.Millisecond)
			r.expose(made(fmt.Sprint("more", i), 1), web)
		}
		if got := r.addresses(first); got != "192.0.2.1" {
			t.Errorf("after 2.5 s, the first Gateway has %s", got)
		}
		pass(time.Second)
		if got := r.addresses(made("more49", 0)); got == "AddressNotAssigned" {
			t.Errorf("the last Gateway has %s", got)
		}
	})
}
