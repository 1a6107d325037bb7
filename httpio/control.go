package httpio

import "syscall"

// Control decides about a connection before it is made, as [net.Dialer.Control].
type Control = func(network, address string, conn syscall.RawConn) error

// Controls returns a Control that calls others in turn until one returns an error. Those that are nil are left out.
func Controls(all ...Control) Control {
	return func(network, address string, conn syscall.RawConn) error {
		for _, one := range all {
			if one == nil {
				continue
			}
			if err := one(network, address, conn); err != nil {
				return err
			}
		}
		return nil
	}
}
