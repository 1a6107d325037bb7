package node

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pod is one pod until its object is deleted. All fields but the channels belong to the goroutine of run.
type pod struct {
	namespace, name string
	uid             types.UID
	nodes           *Nodes
	ctx             context.Context
	leave           context.CancelFunc
	news            chan *corev1.Pod // the newest unprocessed object
	kills           chan struct{}
	log             *journal

	object   *corev1.Pod
	wishes   wishes
	machine  *machine
	taken    []netip.Addr
	backend  backend
	started  time.Time
	restarts int32
}

func newPod(ctx context.Context, nodes *Nodes, object *corev1.Pod) *pod {
	p := &pod{
		namespace: object.Namespace, name: object.Name, uid: object.UID, nodes: nodes, object: object,
		news: make(chan *corev1.Pod, 1), kills: make(chan struct{}, 1), log: &journal{},
	}
	p.ctx, p.leave = context.WithCancel(ctx)
	return p
}

// update passes a newer object without blocking. It is called by one goroutine.
func (p *pod) update(object *corev1.Pod) {
	select {
	case <-p.news:
	default:
	}
	p.news <- object
}

// run runs the pod.
func (p *pod) run() {
	defer p.leave()
	if !p.settle() {
		return
	}
	defer func() { p.nodes.release(p.machine, p.taken) }()
	if p.object.DeletionTimestamp == nil {
		if p.begin() {
			p.live()
		} else {
			p.wait()
		}
	}
	if p.ctx.Err() == nil && p.backend != nil {
		p.end()
	}
	if p.backend != nil {
		p.backend.kill()
	}
	if p.ctx.Err() == nil {
		p.remove()
	}
}

// settle selects a node and addresses. It returns false if the pod is gone or invalid.
func (p *pod) settle() bool {
	var err error
	if p.wishes, err = read(p.object); err != nil {
		p.nodes.options.Complain("pod %s/%s: %v", p.namespace, p.name, err)
		return false
	}
	if p.machine = p.nodes.choose(p.ctx, p.object); p.machine == nil {
		return false
	}
	if p.object.Spec.NodeName == "" && !p.bind() {
		p.nodes.release(p.machine, nil)
		return false
	}
	if p.onHost() {
		p.taken = []netip.Addr{p.machine.host.address}
		return true
	}
	p.nodes.mutex.Lock()
	p.taken, err = p.nodes.addresses.take()
	p.nodes.mutex.Unlock()
	if err != nil {
		p.nodes.options.Complain("pod %s/%s: %v", p.namespace, p.name, err)
		p.nodes.release(p.machine, nil)
		return false
	}
	return true
}

// begin starts the backend, as soon as the pod's volumes exist. It returns false if it cannot be started or the pod is
// to end before.
func (p *pod) begin() bool {
	for {
		backend, err := p.start()
		if err == nil {
			p.backend, p.started = backend, time.Now()
			return true
		}
		if !errors.Is(err, errAbsent) {
			p.nodes.options.Complain("pod %s/%s: %v", p.namespace, p.name, err)
			return false
		}
		if !p.pause() {
			return false
		}
	}
}

// start starts the backend.
func (p *pod) start() (backend, error) {
	if p.onHost() {
		return p.startContainer()
	}
	if !known(p.object) {
		return p.wishes.start(p.place())
	}
	containers, err := p.containers()
	if err != nil {
		return nil, err
	}
	return startPrograms(containers)
}

// pause waits before a retry. It returns false if the pod is to end.
func (p *pod) pause() bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case p.object = <-p.news:
			if p.object.DeletionTimestamp != nil {
				return false
			}
		case <-p.kills: // There is nothing to kill.
		case <-p.ctx.Done():
			return false
		}
	}
}

// place returns where the backend listens: the TCP ports of all containers, by default port 80.
func (p *pod) place() place {
	where := place{Pod: p.namespace + "/" + p.name, Node: p.machine.object.Name}
	var ports []int32
	for _, container := range p.object.Spec.Containers {
		for _, port := range container.Ports {
			if port.Protocol == "" || port.Protocol == corev1.ProtocolTCP {
				ports = append(ports, port.ContainerPort)
			}
		}
	}
	if len(ports) == 0 {
		ports = []int32{80}
	}
	for _, address := range p.taken {
		for _, port := range ports {
			where.Addresses = append(where.Addresses, net.JoinHostPort(address.String(), strconv.Itoa(int(port))))
		}
	}
	return where
}

// live reports the pod's status until it is deleted.
func (p *pod) live() {
	reported := status{}
	ripe, changes := p.ripeness()
	for {
		if now := (status{running: true, ready: ripe && p.wishes.ready, restarts: p.restarts}); now != reported {
			p.report(now)
			reported = now
		}
		select {
		case <-p.ctx.Done():
			return
		case ripe = <-changes:
		case object := <-p.news:
			p.object = object
			if wishes, err := read(object); err == nil {
				p.wishes = wishes
			}
			if object.DeletionTimestamp != nil {
				return
			}
		case <-p.kills:
			p.backend.kill()
		case <-p.backend.ended():
			if !p.restart() {
				return
			}
			reported = status{}
			ripe, changes = p.ripeness()
		}
	}
}

// ripeness returns whether the backend that was started is ready, and a channel with later changes, or nil.
func (p *pod) ripeness() (ripe bool, changes <-chan bool) {
	if backend, ok := p.backend.(probed); ok {
		return false, backend.readiness()
	}
	if p.wishes.readyAfter == 0 {
		return true, nil
	}
	later := make(chan bool, 1)
	time.AfterFunc(p.wishes.readyAfter, func() { later <- true })
	return false, later
}

// wait waits until a pod without a backend is to end.
func (p *pod) wait() {
	for p.object.DeletionTimestamp == nil {
		select {
		case p.object = <-p.news:
		case <-p.ctx.Done():
			return
		}
	}
}

// restart restarts a killed backend after a delay. It returns false if the pod is to end instead.
func (p *pod) restart() bool {
	p.restarts++
	p.report(status{restarts: p.restarts})
	timer := time.NewTimer(p.wishes.restartAfter)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return p.begin()
		case <-p.kills:
		case object := <-p.news:
			p.object = object
			if object.DeletionTimestamp != nil {
				return false
			}
		case <-p.ctx.Done():
			return false
		}
	}
}

// end stops the backend as requested, within the grace period.
func (p *pod) end() {
	grace := time.Duration(0)
	if seconds := p.object.DeletionGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(p.ctx, grace)
	defer cancel()
	backend, obeys := p.backend.(stoppable)
	switch {
	case p.wishes.onStop == exit:
		return
	case p.wishes.onStop == hang && obeys:
		backend.hang()
		<-ctx.Done()
		return
	case p.wishes.onStop == closes && obeys:
		backend.closeConnections()
	}
	drain := time.NewTimer(p.wishes.drain)
	defer drain.Stop()
	select {
	case <-drain.C:
		p.backend.finish(ctx)
	case <-p.backend.ended():
	case <-p.kills:
	case <-ctx.Done():
	}
}
