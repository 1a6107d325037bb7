package main

import "slices"

// relays are the contestants of most rows for TCP: the peers but for Caddy, which has HTTP alone.
func relays() []contestant {
	all := slices.DeleteFunc(peers(), func(c contestant) bool { return c.program == "caddy" })
	for i := range all {
		all[i].relay = true
	}
	return all
}

// splicing are those of rows with many bytes: haproxy without and with the kernel's splice.
func splicing() []contestant {
	all := relays()
	haproxy := all[1].with(func(j *job) { j.Splice = true })
	haproxy.name = "haproxy-splice"
	return slices.Insert(all, 2, haproxy)
}

// packets are those of rows for UDP, which haproxy does not have.
func packets() []contestant {
	return slices.DeleteFunc(relays(), func(c contestant) bool { return c.program == "haproxy" })
}

// holding are those of a row with many idle connections, with two descriptors each. Go's runtime logs its collections.
func holding(connections int) []contestant {
	all := relays()
	for i := range all {
		all[i].environment = append(all[i].environment, "GODEBUG=gctrace=1")
		all[i].change = func(j *job) { j.Connections = 2 * connections }
	}
	return all
}
