package kubernetes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// informerVariable has this binary be a bare informer: its value is the path of a kubeconfig.
const informerVariable = "BENCH_INFORMER"

// informer is a process that watches EndpointSlices with an informer of client-go, over protobuf as Sluice does, and
// records when it receives which version.
type informer struct{ *child }

// received maps versions of EndpointSlices to the time of their receipt, in nanoseconds since 1970.
type received map[string]int64

// inform is the informer's process. It answers each line with what it has received since the one before, and ends with
// its input.
func inform(kubeconfig string, in io.Reader, out io.Writer) int {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	config.ContentType, config.QPS = "application/vnd.kubernetes.protobuf", -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var mu sync.Mutex
	events := received{}
	factory := informers.NewSharedInformerFactory(client, 0)
	watched := factory.Discovery().V1().EndpointSlices().Informer()
	_, err = watched.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, after any) {
		now := time.Now().UnixNano()
		mu.Lock()
		events[after.(*discoveryv1.EndpointSlice).ResourceVersion] = now
		mu.Unlock()
	}})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		mu.Lock()
		_ = json.NewEncoder(out).Encode(events)
		events = received{}
		mu.Unlock()
	}
	return 0
}

// newInformer starts an informer and waits until it has read everything.
func newInformer(tb testing.TB, kubeconfig string) *informer {
	tb.Helper()
	i := &informer{startChild(tb, informerVariable+"="+kubeconfig)}
	i.received(tb)
	return i
}

// received returns what the informer has received since the last call.
func (i *informer) received(tb testing.TB) received {
	tb.Helper()
	events := received{}
	i.ask(tb, &events)
	return events
}
