package main

import (
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

// Who reaches an entrypoint decides whether api.requireAuth has a say there.
func TestLoopbackEntrypoints(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "127.1.2.3:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true, "localhost:80": true, "LocalHost:80": true,
		":80": false, "0.0.0.0:80": false, "[::]:80": false, "10.0.0.1:80": false, "192.168.0.1:80": false, "[fe80::1]:80": false, "localhost.test:80": false,
	} {
		found, err := inherited(&static.Configuration{EntryPoints: map[string]*static.EntryPoint{"web": {Address: address}}})
		if err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", address, found, err)
			continue
		}
		if found[0].Loopback != want {
			t.Errorf("%s: loopback is %v, want %v", address, found[0].Loopback, want)
		}
	}
}
