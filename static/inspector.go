package static

import (
	"fmt"
	"net"
	"net/netip"
)

// Inspector is the interface for the inspector of KT-env; its presence enables it.
type Inspector struct {
	Address string `json:"address" description:"Loopback address on which the inspector of KT-env gets status and version and sets the level of the log, as host:port."`
}

// SetDefaults sets the address that the inspector of KT-env asks.
func (i *Inspector) SetDefaults() { i.Address = "127.0.0.1:8000" }

// inspector checks the options of the inspector. It has no authentication, so it is reached from the same host alone.
func (l *loader) inspector() {
	i := l.Configuration.Inspector
	if i == nil {
		return
	}
	host, _, err := net.SplitHostPort(i.Address)
	if err != nil {
		l.fail(fmt.Sprintf("bad address %s, expected host:port", shorten(i.Address)), "inspector", "address")
		return
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		l.fail(fmt.Sprintf("%s is not a loopback address, and the inspector has no authentication", shorten(i.Address)),
			"inspector", "address")
	}
}
