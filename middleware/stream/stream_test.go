package stream_test

import (
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/stream"
	"github.com/sluiceproxy/sluice/telemetry"
)

// step returns the step of a definition.
func step(t testing.TB, definition dynamic.TCPMiddleware, before stream.Step) stream.Step {
	t.Helper()
	made, err := stream.New(&definition, before)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func inFlight(amount int64) dynamic.TCPMiddleware {
	return dynamic.TCPMiddleware{InFlightConn: &dynamic.TCPInFlightConn{Amount: amount}}
}

func rateLimit(average int64, period time.Duration, burst int64) dynamic.TCPMiddleware {
	return dynamic.TCPMiddleware{RateLimit: &dynamic.TCPRateLimit{
		Average: average, Period: ptypes.Duration(period), Burst: burst,
	}}
}

// admitted returns how many of n connections of an address are admitted, and what ends them.
func admitted(s stream.Step, address string, n int) (count int, end func()) {
	var releases []func()
	client, _ := netip.ParseAddr(address)
	for range n {
		release, refusal := s.Admit(client)
		if refusal.Code != "" {
			continue
		}
		count++
		if release != nil {
			releases = append(releases, release)
		}
	}
	return count, func() {
		for _, release := range releases {
			release()
		}
	}
}

func TestIPAllowList(t *testing.T) {
	ranges := &dynamic.TCPIPAllowList{SourceRange: []string{"192.0.2.0/24", "2001:db8::1"}}
	for name, s := range map[string]stream.Step{
		"ipAllowList": step(t, dynamic.TCPMiddleware{IPAllowList: ranges}, nil),
		"ipWhiteList": step(t, dynamic.TCPMiddleware{IPWhiteList: ranges}, nil),
	} {
		warnings := s.(stream.Warner).Warnings()
		deprecated := len(warnings) == 1 && strings.Contains(warnings[0], "deprecated")
		if deprecated != (name == "ipWhiteList") {
			t.Errorf("%s warns %q", name, warnings)
		}
		for address, want := range map[string]string{
			"192.0.2.1":        "",
			"::ffff:192.0.2.9": "",
			"2001:db8::1%eth0": "",
			"2001:db8::2":      "the address of the client is not in sourceRange",
			"198.51.100.1":     "the address of the client is not in sourceRange",
			"":                 "the address of the client is unknown",
		} {
			client, _ := netip.ParseAddr(address)
			if release, refusal := s.Admit(client); refusal.Reason != want || release != nil ||
				(refusal.Code == telemetry.CodeForbidden) != (want != "") {
				t.Errorf("%s: %s: refusal %q, want %q", name, address, refusal, want)
			}
		}
	}
}

func TestErrorsNameTheOption(t *testing.T) {
	second := ptypes.Duration(time.Second)
	for want, definition := range map[string]dynamic.TCPMiddleware{
		"no kind of middleware is set": {},
		"one kind of middleware is wanted, but ipAllowList, inFlightConn are set": {
			IPAllowList: &dynamic.TCPIPAllowList{}, InFlightConn: &dynamic.TCPInFlightConn{},
		},
		"ipAllowList.sourceRange is empty": {IPAllowList: &dynamic.TCPIPAllowList{}},
		"ipWhiteList.sourceRange is empty": {IPWhiteList: &dynamic.TCPIPAllowList{}},
		"ipAllowList.sourceRange: ":        {IPAllowList: &dynamic.TCPIPAllowList{SourceRange: []string{"a"}}},
		"inFlightConn.amount is 0":         inFlight(0),
		"inFlightConn.amount is -1":        inFlight(-1),
		"rateLimit.average is 0":           {RateLimit: &dynamic.TCPRateLimit{Burst: 1, Period: second}},
		"rateLimit.burst is 0":             {RateLimit: &dynamic.TCPRateLimit{Average: 1, Period: second}},
		"rateLimit.period is 0s":           {RateLimit: &dynamic.TCPRateLimit{Average: 1, Burst: 1}},
	} {
		made, err := stream.New(&definition, nil)
		if made != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", definition, err, want)
		}
	}
}

func TestInFlightConn(t *testing.T) {
	s := step(t, inFlight(3), nil)
	counts := map[string]int{}
	var ends []func()
	for _, address := range []string{"192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "2001:db8::2", ""} {
		count, end := admitted(s, address, 5)
		counts[address], ends = count, append(ends, end)
	}
	for address, want := range map[string]int{
		"192.0.2.1": 3, "::ffff:192.0.2.1": 0, "2001:db8::1": 3, "2001:db8::2": 3, "": 3,
	} {
		if counts[address] != want {
			t.Errorf("%q has %d connections, want %d", address, counts[address], want)
		}
	}
	for _, end := range ends {
		end()
	}
	count, end := admitted(s, "192.0.2.1", 5)
	if _, refusal := s.Admit(netip.MustParseAddr("192.0.2.1")); refusal.Code != telemetry.CodeLimited {
		t.Errorf("the refusal is %+v", refusal)
	}
	if end(); count != 3 {
		t.Errorf("%d connections after all have ended", count)
	}
}

// TestInFlightConnSurvivesReloads changes the amount while connections are open, which end later.
func TestInFlightConnSurvivesReloads(t *testing.T) {
	const address = "192.0.2.1"
	first := step(t, inFlight(3), nil)
	_, end := admitted(first, address, 3)
	same := step(t, inFlight(3), first)
	if count, _ := admitted(same, address, 1); count != 0 {
		t.Error("an unchanged definition forgets the connections")
	}
	more := step(t, inFlight(5), same)
	count, endMore := admitted(more, address, 5)
	if count != 2 {
		t.Errorf("%d connections beside three of five", count)
	}
	fewer := step(t, inFlight(1), more)
	end()
	if count, _ := admitted(fewer, address, 1); count != 0 {
		t.Error("two of one are open, and another is admitted")
	}
	endMore()
	if count, end := admitted(fewer, address, 2); count != 1 {
		t.Errorf("%d of one", count)
	} else {
		end()
	}
	other := step(t, rateLimit(1, time.Second, 1), fewer)
	if count, _ := admitted(other, address, 5); count != 1 {
		t.Errorf("another kind admits %d", count)
	}
}

// TestInFlightConnAtOnce has more goroutines than a client may have connections, and many clients come and go.
func TestInFlightConnAtOnce(t *testing.T) {
	const amount = 3
	s := step(t, inFlight(amount), nil)
	var group sync.WaitGroup
	var open, most atomic.Int64
	client := netip.MustParseAddr("192.0.2.1")
	for worker := range 16 {
		group.Go(func() {
			for i := range 500 {
				other := netip.AddrFrom4([4]byte{10, byte(worker), byte(i >> 8), byte(i)})
				releaseOther, refusal := s.Admit(other)
				if refusal.Code != "" {
					t.Errorf("%s: %s", other, refusal.Reason)
					continue
				}
				if release, refusal := s.Admit(client); refusal.Code == "" {
					now := open.Add(1)
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					open.Add(-1)
					release()
				}
				releaseOther()
			}
		})
	}
	group.Wait()
	if most.Load() > amount {
		t.Errorf("%d connections at once", most.Load())
	}
	if count, _ := admitted(s, "192.0.2.1", 5); count != amount {
		t.Errorf("%d connections afterwards", count)
	}
}

// TestInFlightConnHoldsNoMemory has many clients come and go.
func TestInFlightConnHoldsNoMemory(t *testing.T) {
	const clients = 200_000
	held := func() int64 {
		var memory runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&memory)
		return int64(memory.HeapAlloc)
	}
	s := step(t, inFlight(1), nil)
	before, ends := held(), make([]func(), clients)
	for i := range ends {
		ends[i], _ = s.Admit(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	for _, end := range ends {
		end()
	}
	clear(ends)
	if after := held(); after-before > clients {
		t.Errorf("%d bytes are held for %d clients that have left", after-before, clients)
	}
	runtime.KeepAlive(s)
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, rateLimit(2, time.Second, 4), nil)
		for address, want := range map[string]int{
			"192.0.2.1": 4, "192.0.2.2": 4, "2001:db8:0:1::1": 4, "2001:db8:0:2::1": 4, "": 4,
		} {
			if count, _ := admitted(s, address, 10); count != want {
				t.Errorf("%q: %d connections at once, want %d", address, count, want)
			}
		}
		if count, _ := admitted(s, "2001:db8:0:1:ffff::", 10); count != 0 {
			t.Errorf("%d connections of another address of the subnet", count)
		}
		for range 3 {
			time.Sleep(500 * time.Millisecond) //nolint:forbidigo // the clock of the bubble
			if count, _ := admitted(s, "192.0.2.1", 10); count != 1 {
				t.Errorf("%d connections after half a second", count)
			}
		}
		same := step(t, rateLimit(2, time.Second, 4), s)
		if count, _ := admitted(same, "192.0.2.1", 10); count != 0 {
			t.Errorf("%d connections after an unchanged definition", count)
		}
		faster := step(t, rateLimit(2, time.Second, 5), same)
		if count, _ := admitted(faster, "192.0.2.1", 10); count != 5 {
			t.Errorf("%d connections after a changed definition", count)
		}
	})
}

// countsTransfer is a step whose counts another process can go on with.
type countsTransfer interface {
	Export(limit int) (data []byte, clients int)
	Import(data []byte) error
}

// TestRateLimitGoesOnInAnotherProcess has it count on for the same rate, and begin anew for another one.
func TestRateLimitGoesOnInAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := step(t, rateLimit(1, time.Hour, 4), nil)
		if data, clients := from.(countsTransfer).Export(10); data != nil || clients != 0 {
			t.Errorf("without connections: %s, %d", data, clients)
		}
		admitted(from, "192.0.2.1", 3)
		admitted(from, "2001:db8::1", 4)
		data, clients := from.(countsTransfer).Export(10)
		if clients != 2 {
			t.Errorf("%d clients", clients)
		}
		time.Sleep(time.Second) //nolint:forbidigo // the clock of the bubble
		same, other := step(t, rateLimit(1, time.Hour, 4), nil), step(t, rateLimit(1, time.Hour, 5), nil)
		for _, to := range []stream.Step{same, other} {
			if err := to.(countsTransfer).Import(data); err != nil {
				t.Error(err)
			}
		}
		for address, want := range map[string]int{"192.0.2.1": 1, "2001:db8::2": 0, "192.0.2.2": 4} {
			if count, _ := admitted(same, address, 10); count != want {
				t.Errorf("%s: %d connections, want %d", address, count, want)
			}
		}
		if count, _ := admitted(other, "192.0.2.1", 10); count != 5 {
			t.Errorf("with another rate: %d connections, want 5", count)
		}
		for _, damaged := range []string{"", "[]", strings.Replace(string(data), `"buckets":"`, `"buckets":"AAAA`, 1)} {
			if err := same.(countsTransfer).Import([]byte(damaged)); err == nil {
				t.Errorf("%q: no error", damaged)
			}
		}
	})
}

func BenchmarkAdmit(b *testing.B) {
	for name, definition := range map[string]dynamic.TCPMiddleware{
		"ipAllowList":  {IPAllowList: &dynamic.TCPIPAllowList{SourceRange: []string{"10.0.0.0/8", "2001:db8::/32"}}},
		"inFlightConn": inFlight(1000),
		"rateLimit":    rateLimit(1e9, time.Second, 1e9),
	} {
		s := step(b, definition, nil)
		for _, clients := range []int{1, 10_000} {
			b.Run(name+"/"+strconv.Itoa(clients), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					i := i % clients
					release, _ := s.Admit(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
					if release != nil {
						release()
					}
				}
			})
		}
	}
}
