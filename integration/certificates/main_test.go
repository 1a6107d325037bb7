package certificates_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/integration/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m, goleak.IgnoreTopFunction(acmetest.Leak))) }
