// Package oracle compares Sluice with nginx, haproxy and net/http on malformed and ambiguous requests and responses,
// grouped by attack. For each, it compares the raw bytes that a backend received and the client's result. Every
// difference of Sluice from the peers is a named row of a table with its reason; an obsolete row fails. Peers use the
// defaults of their packages.
package oracle

import (
	"os"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
