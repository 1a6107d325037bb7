package node

import (
	"context"
	"errors"

	"github.com/sluiceproxy/sluice/integration/cluster/node/image"
)

// backend serves the requests of a pod.
type backend interface {
	finish(ctx context.Context) // returns when it has ended
	kill()                      // returns when it has ended
	ended() <-chan struct{}
}

// stoppable is a backend that can misbehave while it stops.
type stoppable interface {
	hang()
	closeConnections()
}

// inside is a backend in this process.
type inside struct{ *server }

// ended is closed by kill in any case.
func (i inside) ended() <-chan struct{} { return i.dead }

// start starts the pod's backend and returns when it listens.
func (w wishes) start(place place) (backend, error) {
	if w.process {
		return startProcess(place)
	}
	s, err := serve(place)
	if err != nil {
		return nil, err
	}
	return inside{s}, nil
}

// programs is a backend that runs the programs of known images.
type programs struct {
	servers []*image.Server
	dead    chan struct{}
}

// startPrograms runs the programs of a pod's containers, all or none.
func startPrograms(containers []image.Container) (backend, error) {
	p := &programs{dead: make(chan struct{})}
	for _, one := range containers {
		s, err := image.Start(one)
		if err != nil {
			p.kill()
			return nil, err
		}
		p.servers = append(p.servers, s)
	}
	return p, nil
}

// errBehaviour refuses annotations that programs cannot obey.
var errBehaviour = errors.New("programs of known images run inside, and cannot hang or close connections")

func (p *programs) finish(ctx context.Context) {
	for _, one := range p.servers {
		one.Finish(ctx)
	}
	p.kill()
}

func (p *programs) kill() {
	for _, one := range p.servers {
		one.Kill()
	}
	select {
	case <-p.dead:
	default:
		close(p.dead)
	}
}

// ended is closed by kill, which is called by the pod's goroutine only.
func (p *programs) ended() <-chan struct{} { return p.dead }
