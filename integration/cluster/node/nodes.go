package node

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/sluiceproxy/sluice/integration/cluster/follow"
)

// maxCalls is the number of concurrent API calls.
const maxCalls = 16

// Options describe the cluster of the nodes.
type Options struct {
	// Client has unlimited permissions.
	Client kubernetes.Interface
	// Pods is the range of the pods' addresses, all of them local. The first ten are reserved.
	Pods netip.Prefix
	// Pods6 is the range for IPv6. If it is not set or not usable, pods have IPv4 only.
	Pods6 netip.Prefix
	// Complain logs problems of a pod in the test's log.
	Complain func(format string, args ...any)
}

// Nodes replaces the kubelets and the scheduler of a cluster.
type Nodes struct {
	options Options
	cancel  context.CancelFunc
	running sync.WaitGroup
	calls   chan struct{} // holds one value for each running API call

	mutex     sync.Mutex
	known     []*machine
	changed   chan struct{} // closed when a node is added
	pods      map[types.UID]*pod
	addresses *addresses
}

// machine is one node.
type machine struct {
	object  *corev1.Node
	kubelet *kubelet
	pods    int
	host    *host // nil without a network namespace of its own
}

// Start follows the pods until Stop. Pods wait until Add has made a node.
func Start(options Options) *Nodes {
	if !listens(options.Pods6) {
		options.Pods6 = netip.Prefix{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &Nodes{
		options: options, cancel: cancel, calls: make(chan struct{}, maxCalls), changed: make(chan struct{}),
		pods: map[types.UID]*pod{}, addresses: newAddresses(options.Pods, options.Pods6),
	}
	all := options.Client.CoreV1().Pods(metav1.NamespaceAll)
	source := follow.Source{
		List:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return all.List(ctx, o) },
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return all.Watch(ctx, o) },
	}
	n.running.Go(func() { follow.Run(ctx, source, func(changes []follow.Change) { n.take(ctx, changes) }) })
	return n
}

// Stop kills every pod's backend and the nodes' APIs. The objects stay in the cluster.
func (n *Nodes) Stop() {
	n.cancel()
	n.running.Wait()
	for _, one := range n.known {
		one.kubelet.stop()
		if one.host == nil {
			continue
		}
		if err := one.host.close(); err != nil {
			n.options.Complain("node %s: %v", one.object.Name, err)
		}
	}
}

// Add registers a node with a name and an optional zone.
func (n *Nodes) Add(ctx context.Context, name, zone string) error {
	n.mutex.Lock()
	number := len(n.known)
	n.mutex.Unlock()
	address := n.options.Pods.Addr()
	for range number + 2 { // The first address is the API server's.
		address = address.Next()
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp",
		net.JoinHostPort(address.String(), strconv.Itoa(kubeletPort)))
	if err == nil {
		err = n.add(ctx, name, zone, listener, nil)
	}
	if err != nil {
		return fmt.Errorf("node %s: %w", name, err)
	}
	return nil
}

// add registers a node at the address of a listener, which it serves or closes.
func (n *Nodes) add(ctx context.Context, name, zone string, listener net.Listener, host *host) error {
	kubelet, err := startKubelet(listener, n)
	if err != nil {
		return err
	}
	object, err := register(ctx, n.options.Client, name, zone, listener.Addr().(*net.TCPAddr).AddrPort().Addr())
	if err != nil {
		kubelet.stop()
		return err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.known = append(n.known, &machine{object: object, kubelet: kubelet, host: host})
	close(n.changed)
	n.changed = make(chan struct{})
	return nil
}

// Kill kills the backend of a pod, as a crash does. The pod becomes not ready, and restarts at the same address.
func (n *Nodes) Kill(namespace, name string) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, p := range n.pods {
		if p.namespace == namespace && p.name == name {
			select {
			case p.kills <- struct{}{}:
			default: // already being killed
			}
			return nil
		}
	}
	return fmt.Errorf("pod %s/%s does not run", namespace, name)
}

// take starts a goroutine for each new pod, and passes changes to the others.
func (n *Nodes) take(ctx context.Context, changes []follow.Change) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, change := range changes {
		object := change.Object.(*corev1.Pod)
		p := n.pods[object.UID]
		switch {
		case change.Gone && p != nil:
			delete(n.pods, object.UID)
			p.leave()
		case change.Gone || ended(object):
		case p != nil:
			p.update(object)
		default:
			p = newPod(ctx, n, object)
			n.pods[object.UID] = p
			n.running.Go(p.run)
		}
	}
}

// ended reports whether a pod has completed.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// choose returns the allowed node with the fewest pods, or the one that the pod is bound to, and counts the pod. It
// waits until there is one, and returns nil if ctx ends first.
func (n *Nodes) choose(ctx context.Context, pod *corev1.Pod) *machine {
	for {
		n.mutex.Lock()
		var best *machine
		for _, one := range n.known {
			if allows(pod, one.object) && (best == nil || one.pods < best.pods) {
				best = one
			}
		}
		changed := n.changed
		if best != nil {
			best.pods++
		}
		n.mutex.Unlock()
		if best != nil {
			return best
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// release releases a pod's place on a node and its addresses.
func (n *Nodes) release(where *machine, taken []netip.Addr) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	where.pods--
	n.addresses.release(taken)
}
