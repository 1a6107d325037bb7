package relay_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/forward/relay"
	limits "github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/httpio/descriptors/descriptorstest"
)

// TestTransfersBothWays moves pieces of random sizes both ways at a time, to readers that are slow now and then.
func TestTransfersBothWays(t *testing.T) {
	for name, s := range combinations {
		for _, small := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, small buffers %v", name, small), func(t *testing.T) {
				s.options, s.smallBuffers = forEver(), small
				s.options.IdleTimeout = eventTimeout
				size := int64(24 << 20)
				if small {
					size = 2 << 20
				}
				g := newRig(t, s)
				var sums [4]string
				var all sync.WaitGroup
				all.Go(func() { sums[0] = sendRandom(t, g.client, size, 1) })
				all.Go(func() { sums[1] = receiveSlowly(t, g.server, 2) })
				all.Go(func() { sums[2] = sendRandom(t, g.server, size, 3) })
				all.Go(func() { sums[3] = receiveSlowly(t, g.client, 4) })
				all.Wait()
				if sums[0] != sums[1] || sums[2] != sums[3] {
					t.Errorf("sums %q", sums)
				}
				result := g.result(t)
				if result.FromClient != size || result.FromServer != size || result.Err != nil {
					t.Errorf("%+v", result)
				}
			})
		}
	}
}

// sendRandom sends pieces of 1 byte to 256 KiB, ends the direction, and returns the sum of all.
func sendRandom(t *testing.T, to conn, size int64, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 0))
	hash, source := sha256.New(), rand.NewChaCha8([32]byte{byte(seed)})
	piece := make([]byte, 256<<10)
	for left := size; left > 0; {
		n := min(left, 1+random.Int64N(1<<random.IntN(19)))
		_, _ = source.Read(piece[:n])
		hash.Write(piece[:n])
		if _, err := to.Write(piece[:n]); err != nil {
			t.Errorf("with %d bytes left: %v", left, err)
			return ""
		}
		left -= n
	}
	if err := to.CloseWrite(); err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// receiveSlowly reads pieces of up to 128 KiB to the end, and stands still now and then.
func receiveSlowly(t *testing.T, from io.Reader, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 0))
	hash, piece := sha256.New(), make([]byte, 128<<10)
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	for {
		n, err := from.Read(piece[:1+random.IntN(len(piece))])
		hash.Write(piece[:n])
		if err == io.EOF {
			return fmt.Sprintf("%x", hash.Sum(nil))
		}
		if err != nil {
			t.Error(err)
			return ""
		}
		if random.IntN(16) == 0 {
			<-pause.C
		}
	}
}

// TestPipesLeaveTheReserve copies a long flow where a pipe would take descriptors in reserve.
func TestPipesLeaveTheReserve(t *testing.T) {
	descriptorstest.InChild(t, 256, func(t *testing.T) {
		for _, reserve := range []*limits.Limit{nil, limits.New(64)} {
			engine := &relay.Engine{Reserve: reserve}
			g := newRig(t, setup{options: forEver(), engine: engine})
			free := descriptorstest.Fill(t)
			free(4)
			const size = 16 << 20
			go func() {
				_, _ = io.CopyN(g.server, endless{}, size)
				_ = g.server.Close()
			}()
			if n, err := io.Copy(io.Discard, g.client); n != size || err != nil {
				t.Errorf("%d bytes came, error %v", n, err)
			}
			_ = g.client.Close()
			if spliced := g.ends(t, relay.ServerEOF, relay.ClientEOF).Spliced; (spliced > 0) != (reserve == nil) {
				t.Errorf("%d descriptors in reserve: %d bytes were spliced", reserve.Reserve(), spliced)
			}
			free(256)
		}
	})
}

// TestPipesComeBack: a long flow is spliced, an idle connection holds no pipe, and a connection that is reset with
// bytes in its pipe leaks none.
func TestPipesComeBack(t *testing.T) {
	engine := new(relay.Engine)
	engine.SetParkAfter(time.Hour) // A set of epoll would be one more descriptor.
	before := descriptors(t)
	const rounds = 40
	spliced := int64(0)
	for round := range rounds {
		g := newRig(t, setup{options: forEver(), engine: engine})
		go func() { _, _ = io.CopyN(g.server, endless{}, 64<<20) }()
		if round%2 == 0 { // Abandoned in the middle, with bytes in the pipe.
			_, _ = io.CopyN(io.Discard, g.client, 8<<20)
			reset(t, g.client)
			g.ends(t, relay.ClientReset, relay.ClientReset)
			_ = g.server.Close()
			continue
		}
		_, _ = io.CopyN(io.Discard, g.client, 64<<20)
		// The flow is idle now and goes on as if nothing had been.
		write(t, g.client, "a")
		expect(t, g.server, "a")
		write(t, g.server, "b")
		expect(t, g.client, "b")
		_ = g.server.Close()
		expectEnd(t, g.client, "")
		_ = g.client.Close()
		spliced += g.ends(t, relay.ServerEOF, relay.ClientEOF).Spliced
	}
	if spliced < 64<<20 {
		t.Errorf("%d bytes were spliced", spliced)
	}
	// One flow at a time uses one pipe at a time, and a pipe that held bytes at the end is replaced.
	if n := engine.Pipes(); n < 1 || n > mostPipes {
		t.Errorf("%d pipes", n)
	}
	// The collector closes them; a connection that is joined, but idle, holds none.
	idle := newRig(t, setup{options: forEver(), engine: engine})
	go func() { _, _ = io.CopyN(idle.server, endless{}, 64<<20) }()
	_, _ = io.CopyN(io.Discard, idle.client, 64<<20)
	before += 4
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(eventTimeout); engine.Pipes() > 0 || descriptors(t) > before; <-tick.C {
		runtime.GC()
		if time.Now().After(until) {
			t.Fatalf("%d pipes, %d descriptors after %d", engine.Pipes(), descriptors(t), before)
		}
	}
}

// TestIdleConnectionsAreCheap connects 1000 pairs over loopback (their peers are in this process too: 4 descriptors
// each) and counts what idle connections hold, after bytes went through in both directions: no goroutine among it.
func TestIdleConnectionsAreCheap(t *testing.T) {
	c := measureIdle(t, 1000, 0, joinIdle(t))
	t.Logf("%d descriptors, %d bytes of memory (%d of stacks)", c.descriptors, c.bytes, c.stacks)
	if c.descriptors > 2 {
		t.Errorf("%d descriptors for a connection", c.descriptors)
	}
	if c.bytes > mostIdleBytes {
		t.Errorf("%d bytes for a connection", c.bytes)
	}
}

// descriptors counts those of the process.
func descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
