package entrypoint

// mostIdleWorkers is how many goroutines wait for a connection.
const mostIdleWorkers = 64

// workers serve connections. A goroutine that has served one waits for the next, because its stack has the size that it
// takes: a new one would grow twice before a server is connected to.
type workers struct {
	serve func(*connection)
	// next hands connections to goroutines that wait, and places limits how many do.
	next   chan *connection
	places chan struct{}
}

func newWorkers(serve func(*connection)) *workers {
	return &workers{serve: serve, next: make(chan *connection), places: make(chan struct{}, mostIdleWorkers)}
}

// start serves a connection on another goroutine. It does not wait, and is not called after end.
func (w *workers) start(c *connection) {
	select {
	case w.next <- c:
	default:
		go w.work(c)
	}
}

func (w *workers) work(c *connection) {
	for c != nil {
		w.serve(c)
		select {
		case w.places <- struct{}{}:
		default:
			return
		}
		c = <-w.next
		<-w.places
	}
}

// end ends the goroutines that wait.
func (w *workers) end() { close(w.next) }
