package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/sluiceproxy/sluice/static"
)

// ownURL finds where the static configuration serves something of Sluice's own, as seen from this machine: on the
// entrypoint, and at the path, that where returns. The error names the flag that sets it.
func ownURL(sources static.Sources, flag string, where func(*static.Configuration) (entryPoint, path string, err error)) (string, error) {
	loaded, findings := static.Load(sources)
	for _, finding := range findings {
		if finding.Severity == static.Error {
			return "", errors.New(finding.String())
		}
	}
	name, path, err := where(loaded.Configuration)
	if err != nil {
		return "", err
	}
	entryPoint := loaded.Configuration.EntryPoints[name]
	if entryPoint == nil {
		return "", fmt.Errorf("entrypoint %q does not exist: name the address with %s", name, flag)
	}
	address, err := static.ParseAddress(entryPoint.Address)
	if err != nil {
		return "", fmt.Errorf("entrypoint %q: %w", name, err)
	}
	if address.Port == 0 {
		return "", fmt.Errorf("entrypoint %q listens on a port that the system chooses: name it with %s", name, flag)
	}
	host := address.Host
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	scheme := "http"
	if entryPoint.HTTP.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(address.Port))) + path, nil
}
