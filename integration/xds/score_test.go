package xds

import (
	"fmt"
	"maps"
	"regexp"
	"sync"
)

// Kinds of calls.
const (
	unary  = "unary"
	stream = "stream"
)

// score counts the results of one kind of call of one client to one Service.
type score struct {
	Sent   int            `json:"sent"`
	Failed []string       `json:"failed"` // messages
	Pods   map[string]int `json:"pods"`   // answers by pod
}

// String formats the number of calls and their failures.
func (s score) String() string { return fmt.Sprintf("%6d sent, %d failed", s.Sent, len(s.Failed)) }

// reasons counts failures that are equal but for their addresses.
func (s score) reasons() map[string]int {
	counts := map[string]int{}
	for _, reason := range s.Failed {
		counts[address.ReplaceAllString(reason, "POD")]++
	}
	return counts
}

var address = regexp.MustCompile(`\d+\.\d+\.\d+\.\d+:\d+`)

// scores are those of one client, by Service and kind.
type scores map[string]score

// key is that of a score.
func key(service, kind string) string { return service + " " + kind }

// since returns what has been added since an earlier tally.
func (s scores) since(before scores) scores {
	added := scores{}
	for name, now := range s {
		was := before[name]
		one := score{Sent: now.Sent - was.Sent, Failed: now.Failed[len(was.Failed):], Pods: map[string]int{}}
		for pod, count := range now.Pods {
			if more := count - was.Pods[pod]; more > 0 {
				one.Pods[pod] = more
			}
		}
		added[name] = one
	}
	return added
}

// board collects scores of several goroutines.
type board struct {
	mu     sync.Mutex
	scores scores
}

func newBoard() *board { return &board{scores: scores{}} }

// note counts a call.
func (b *board) note(name, pod string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.scores[name]
	one.Sent++
	if err != nil {
		one.Failed = append(one.Failed, err.Error())
	} else {
		if one.Pods == nil {
			one.Pods = map[string]int{}
		}
		one.Pods[pod]++
	}
	b.scores[name] = one
}

// tally returns the scores so far.
func (b *board) tally() scores {
	b.mu.Lock()
	defer b.mu.Unlock()
	copied := scores{}
	for name, one := range b.scores {
		one.Pods = maps.Clone(one.Pods)
		copied[name] = one
	}
	return copied
}
