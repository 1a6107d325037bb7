package node

import "context"

// backend serves the requests of a pod.
type backend interface {
	hang()
	closeConnections()
	finish(ctx context.Context) // returns when it has ended
	kill()                      // returns when it has ended
	ended() <-chan struct{}
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
