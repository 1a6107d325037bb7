package ingressnginx

import (
	"os"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

func TestMain(m *testing.M) {
	if os.Getenv("BENCH_PAGE") == "" {
		os.Exit(m.Run()) // no cluster needed
	}
	os.Exit(cluster.Main(m))
}
