// Package workers serves values on goroutines that are kept for the next value: their stacks have the size that the
// work takes, and need not grow again.
package workers

// Pool is a set of goroutines. It must be made by [New].
type Pool[T any] struct {
	serve func(T)
	// next hands values to goroutines that wait, and places limits how many do.
	next   chan T
	places chan struct{}
}

// New returns a pool of which at most so many goroutines wait. serve must not panic.
func New[T any](idle int, serve func(T)) *Pool[T] {
	return &Pool[T]{serve: serve, next: make(chan T), places: make(chan struct{}, idle)}
}

// Start serves a value on another goroutine. It does not wait, and must not be called after End.
func (p *Pool[T]) Start(value T) {
	select {
	case p.next <- value:
	default:
		go p.work(value)
	}
}

func (p *Pool[T]) work(value T) {
	for more := true; more; {
		p.serve(value)
		select {
		case p.places <- struct{}{}:
		default:
			return
		}
		value, more = <-p.next
		<-p.places
	}
}

// End ends the goroutines that wait. Those that serve end after that.
func (p *Pool[T]) End() { close(p.next) }
