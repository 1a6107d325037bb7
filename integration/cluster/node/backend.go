package node

import "context"

// backend is what runs in a pod.
type backend interface {
	hang()
	closeConnections()
	finish(ctx context.Context) // returns when it has ended
	kill()                      // returns when it has ended
	ended() <-chan struct{}
}

// inside is a backend in this process.
type inside struct{ *server }

// ended is closed by kill, however the end began.
func (i inside) ended() <-chan struct{} { return i.dead }

// start starts the backend that the pod wishes for; it listens when this returns.
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
