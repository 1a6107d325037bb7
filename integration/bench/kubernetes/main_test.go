package kubernetes

import (
	"os"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

func TestMain(m *testing.M) {
	if kubeconfig := os.Getenv(informerVariable); kubeconfig != "" {
		os.Exit(inform(kubeconfig, os.Stdin, os.Stdout))
	}
	if config := os.Getenv(subscribersVariable); config != "" {
		os.Exit(subscribe(config, os.Stdin, os.Stdout))
	}
	if os.Getenv(exchangeVariable) != "" {
		os.Exit(exchange(os.Stdin, os.Stdout))
	}
	if address := os.Getenv(exchangePeerVariable); address != "" {
		os.Exit(exchangePeers(address))
	}
	if os.Getenv("BENCH_PAGE") == "" {
		os.Exit(m.Run()) // no cluster needed
	}
	os.Exit(cluster.Main(m))
}
