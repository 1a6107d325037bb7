// Package streams runs TCP and UDP routers with the servers and clients of others: PostgreSQL, MariaDB, Redis, an MQTT
// broker, OpenSSH, a DNS resolver, DTLS and WireGuard. Each server listens on an address of its own of the loopback
// interface, or of a network namespace, and its client reaches it through one Sluice with an entrypoint for each
// protocol. Other tests flood a Sluice, and check its memory, its descriptors and that others are served.
package streams
