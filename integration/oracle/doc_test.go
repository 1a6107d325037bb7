// Package oracle asks nginx, haproxy and net/http what they make of the bytes that Sluice gets.
//
// In flow requests and responses that are malformed or ambiguous, grouped by what an attacker does with them; out flow
// what a backend that records raw bytes saw, and what the client got, through each of the four. Whatever only Sluice
// takes or only Sluice refuses is a named row of a table with its reason, and a row that is no longer true fails.
//
// It never looks into the packages of the product, and starts peers with the defaults of their packages alone.
package oracle

import (
	"os"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
