package pages

import (
	"os"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
