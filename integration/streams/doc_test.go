// Package streams runs TCP and UDP routers with the servers and clients of others: PostgreSQL, MariaDB, Redis, an MQTT
// broker, OpenSSH, a DNS resolver and DTLS. Each server listens on an address of its own of the loopback interface, and
// its client reaches it through one Sluice with an entrypoint for each protocol.
package streams
