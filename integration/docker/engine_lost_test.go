package docker

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestFirstRequest measures how long a container's route takes to answer after the engine's start event, or after the
// container can be reached, if connections were refused at first.
func TestFirstRequest(t *testing.T) {
	const count, limit = 15, 100 * time.Millisecond
	e := startEngine(t)
	g := open(t, e.socket)
	stream := e.Events(t.Context(), client.EventsListOptions{Filters: client.Filters{}.Add("event", "start")})
	var took []time.Duration
	for i := range count {
		name := fmt.Sprintf("quick-%d", i)
		id := e.create(spec{name: name})
		e.begin(id)
		listens := listening(t, e.address(id, "bridge")+":80")
		g.becomes(name+"/", answers(id))
		answered := time.Now()
		event := harness.Await(t, stream.Messages, "the start event")
		if event.Actor.ID != id {
			t.Fatalf("the event is about %s, want %s", event.Actor.ID, id)
		}
		began := time.Unix(0, event.TimeNano)
		if at := harness.Await(t, listens, "the container listens"); at.After(began) {
			began = at
		}
		took = append(took, answered.Sub(began))
	}
	slices.Sort(took)
	t.Logf("from the start event to the first answer: median %v, most %v", took[count/2], took[count-1])
	if took[count/2] > limit {
		t.Errorf("the median is %v, want %v at most: %v", took[count/2], limit, took)
	}
}

// listening returns when an address can be connected to: the zero time if the first connection is not refused, which
// may be long after the listener began.
func listening(t *testing.T, address string) <-chan time.Time {
	t.Helper()
	at := make(chan time.Time, 1)
	go func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for refused := false; t.Context().Err() == nil; refused = true {
			if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
				now := time.Time{}
				if refused {
					now = time.Now()
				}
				at <- now
				_ = conn.Close()
				return
			}
			<-ticker.C
		}
	}()
	return at
}

// TestEngineRestarts expects that routes stay while the engine is away, and that what has changed meanwhile is found.
func TestEngineRestarts(t *testing.T) {
	e := startEngine(t)
	stays, ends := e.run(spec{name: "stays"}), e.run(spec{name: "ends"})
	g := open(t, e.socket)
	g.becomes("stays/", answers(stays))
	g.becomes("ends/", answers(ends))
	inspected, err := e.ContainerInspect(t.Context(), ends, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.stop()
	g.WaitLog("engine cannot be reached")
	kill(t, inspected.Container.State.Pid)
	for range 50 {
		if got := g.ask("stays/"); got != answers(stays) {
			t.Fatalf("while the engine is away, the route is answered by %q", got)
		}
	}
	e.start()
	g.becomes("ends/", "404")
	g.becomes("stays/", answers(stays))
	late := e.run(spec{name: "late"})
	g.becomes("late/", answers(late))
}

// TestManyContainers starts and removes a hundred containers, ten at a time, while the stream of events is cut and the
// engine is restarted, and expects that nothing is left of them.
func TestManyContainers(t *testing.T) {
	e := startEngine(t)
	wire := newWire(t, e.socket)
	g := open(t, wire.path)
	stays := e.run(spec{name: "stays"})
	g.becomes("stays/", answers(stays))
	wire.cut() // What is open before the work is as much as what is open after it.
	late := e.run(spec{name: "first"})
	g.becomes("first/", answers(late))
	e.remove(late)
	g.becomes("first/", "404")
	goroutines := g.goroutines()
	for round := range 10 {
		work(t, e, g, round)
		switch round {
		case 2, 6:
			wire.cut()
		case 4:
			e.stop()
			e.start()
		}
	}
	g.becomes("stays/", answers(stays))
	eventually(t, "nothing is left", func() bool {
		return g.goroutines() <= goroutines+5 && wire.count() <= 3
	}, func() string {
		return fmt.Sprintf("%d goroutines, %d before; %d connections", g.goroutines(), goroutines, wire.count())
	})
	if text := g.page("/api/routes"); strings.Contains(text, "many-") || !strings.Contains(text, "stays@docker") {
		t.Errorf("routers are left: %s", text)
	}
}

// work starts ten containers at once and removes them when all of them have answered.
func work(t *testing.T, e *engine, g *gate, round int) {
	t.Helper()
	ids := make([]string, 10)
	name := func(i int) string { return fmt.Sprintf("many-%d-%d", round, i) }
	var running sync.WaitGroup
	for i := range ids {
		running.Go(func() { ids[i] = e.run(spec{name: name(i)}) })
	}
	running.Wait()
	for i, id := range ids {
		g.becomes(name(i)+"/", answers(id))
	}
	for _, id := range ids {
		running.Go(func() { e.remove(id) })
	}
	running.Wait()
	for i := range ids {
		g.becomes(name(i)+"/", "404")
	}
}

// page returns what the entrypoint traefik answers.
func (g *gate) page(path string) string {
	g.t.Helper()
	inside := harness.NewClient(g.t, harness.H1, g.Addr("traefik"), "traefik.test", nil)
	defer inside.CloseIdleConnections()
	return inside.Get(path).Text
}

// goroutines returns how many goroutines Sluice has.
func (g *gate) goroutines() int {
	g.t.Helper()
	found := regexp.MustCompile(`(?m)^go_goroutines (\d+)`).FindStringSubmatch(g.page("/metrics"))
	if found == nil {
		g.t.Fatal("the metrics don't tell the number of goroutines")
	}
	count, err := strconv.Atoi(found[1])
	if err != nil {
		g.t.Fatal(err)
	}
	return count
}

// wire is a socket in front of the engine's, whose connections can be cut.
type wire struct {
	path string

	mu          sync.Mutex
	connections map[net.Conn]bool
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	w := &wire{path: filepath.Join(filepath.Dir(target), "wire.sock"), connections: map[net.Conn]bool{}}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", w.path)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { w.carry(near, target) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.cut()
		running.Wait()
	})
	return w
}

// carry carries one connection.
func (w *wire) carry(near net.Conn, target string) {
	defer near.Close()                   //nolint:errcheck // It is over.
	far, err := net.Dial("unix", target) //nolint:noctx // It is local.
	if err != nil {
		return
	}
	w.mu.Lock()
	w.connections[near] = true
	w.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(near, far)
		_ = near.Close()
	})
	_, _ = io.Copy(far, near)
	_ = far.Close()
	back.Wait()
	w.mu.Lock()
	delete(w.connections, near)
	w.mu.Unlock()
}

// cut closes all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.connections {
		_ = one.Close()
	}
}

// count returns how many connections are open.
func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.connections)
}
