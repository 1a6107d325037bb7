package queue_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluiceproxy/sluice/telemetry/queue"
)

func push(t *testing.T, q *queue.Queue[int], value, size int) bool {
	t.Helper()
	node := q.Take()
	node.Value = value
	if q.Push(node, size) {
		return true
	}
	q.Recycle(node)
	return false
}

func values(nodes []*queue.Node[int]) []int {
	var found []int
	for _, node := range nodes {
		found = append(found, node.Value)
	}
	return found
}

func TestOrder(t *testing.T) {
	q := queue.New[int](queue.Limits{Nodes: 10, Bytes: 100, Full: 100})
	for i := range 4 {
		push(t, q, i, 1)
	}
	first := q.Drain(nil)
	push(t, q, 4, 1)
	both := q.Drain(first)
	if got := values(both); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("drained %v", got)
	}
	if rest := q.Drain(nil); len(rest) != 0 {
		t.Errorf("an empty queue holds %v", values(rest))
	}
}

func TestLimits(t *testing.T) {
	for _, row := range []struct {
		name   string
		limits queue.Limits
		sizes  []int
		want   []int
	}{
		{"nodes", queue.Limits{Nodes: 2, Bytes: 100}, []int{1, 1, 1}, []int{0, 1}},
		{"bytes", queue.Limits{Nodes: 9, Bytes: 10}, []int{6, 5, 4, 1}, []int{0, 2}},
		{"one that is larger than all", queue.Limits{Nodes: 9, Bytes: 10}, []int{11, 1}, []int{0}},
		{"one that is larger than what is left", queue.Limits{Nodes: 9, Bytes: 10}, []int{1, 11, 9}, []int{0, 2}},
	} {
		q := queue.New[int](row.limits)
		for range 3 { // What was drained leaves room again.
			for i, size := range row.sizes {
				push(t, q, i, size)
			}
			if got := q.Waiting(); got != int64(len(row.want)) {
				t.Errorf("%s: %d wait, want %d", row.name, got, len(row.want))
			}
			if got := values(q.Drain(nil)); !slices.Equal(got, row.want) {
				t.Errorf("%s: holds %v, want %v", row.name, got, row.want)
			}
		}
	}
}

func TestSignals(t *testing.T) {
	q := queue.New[int](queue.Limits{Nodes: 100, Bytes: 100, Full: 10})
	signalled := func(signal <-chan struct{}) bool {
		select {
		case <-signal:
			return true
		default:
			return false
		}
	}
	if signalled(q.Begun()) || signalled(q.Full()) {
		t.Error("an empty queue signals")
	}
	push(t, q, 0, 4)
	if !signalled(q.Begun()) || signalled(q.Full()) {
		t.Error("the first value signals something else than that it is there")
	}
	push(t, q, 1, 4)
	if signalled(q.Begun()) || signalled(q.Full()) {
		t.Error("the second value signals")
	}
	push(t, q, 2, 4)
	if signalled(q.Begun()) || !signalled(q.Full()) {
		t.Error("a queue that is full does not signal it")
	}
	push(t, q, 3, 4)
	if signalled(q.Full()) {
		t.Error("a queue that is full signals it twice")
	}
	q.Drain(nil)
	push(t, q, 4, 12)
	if !signalled(q.Begun()) || !signalled(q.Full()) {
		t.Error("a drained queue does not signal again")
	}
}

// TestNothingIsLostOrDoubled has many push while one drains.
func TestNothingIsLostOrDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const writers, each = 8, 2000
		q := queue.New[int](queue.Limits{Nodes: 500, Bytes: 1 << 20, Full: 100})
		refused := make([]int, writers)
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for i := range each {
					if !push(t, q, w*each+i, 1) {
						refused[w]++
					}
				}
			})
		}
		done := make(chan struct{})
		go func() {
			group.Wait()
			close(done)
		}()
		seen := map[int]bool{}
		last := make([]int, writers)
		take := func() {
			for _, node := range q.Drain(nil) {
				w, i := node.Value/each, node.Value%each
				if seen[node.Value] || i+1 <= last[w] {
					t.Fatalf("value %d of writer %d comes twice, or after %d", i, w, last[w]-1)
				}
				seen[node.Value], last[w] = true, i+1
				q.Recycle(node)
			}
		}
		for running := true; running; {
			select {
			case <-q.Begun():
			case <-q.Full():
			case <-done:
				running = false
			}
			take()
		}
		total := len(seen)
		for _, n := range refused {
			total += n
		}
		if total != writers*each || q.Waiting() != 0 {
			t.Errorf("%d of %d values are accounted for, %d wait", total, writers*each, q.Waiting())
		}
	})
}
