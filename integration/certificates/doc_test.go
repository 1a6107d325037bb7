// Package certificates_test has the built Sluice obtain certificates from a real ACME server, Pebble.
package certificates_test
