package exposure

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestOldWritesAreForgotten proves that the leader remembers writes, and pauses after failed ones, only while they
// decide something: not for every Gateway that there ever was.
func TestOldWritesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leader{sent: map[string]sent{}, paused: map[string]time.Time{}}
		for i := range 10_000 {
			key := fmt.Sprint("services shop/", i)
			switch i % 3 {
			case 0:
				l.sent[key] = sent{"digest", time.Now()}
			case 1:
				l.sent[key] = sent{digest: "digest"}
				l.pause(key, refusalPause)
			case 2:
				l.pause(key, invalidPause)
			}
		}
		if l.forget(); len(l.sent) != 6667 || len(l.paused) != 6666 {
			t.Errorf("at once, %d writes and %d pauses are known, want all 6667 and 6666", len(l.sent), len(l.paused))
		}
		<-time.NewTimer(refusalPause).C
		if l.forget(); len(l.sent) != 3334 || len(l.paused) != 3333 {
			t.Errorf("after a pause, %d writes and %d pauses are known, want 3334 and 3333", len(l.sent), len(l.paused))
		}
		<-time.NewTimer(refresh).C
		if l.forget(); len(l.sent)+len(l.paused) != 0 {
			t.Errorf("in the end, %d writes and %d pauses are known", len(l.sent), len(l.paused))
		}
	})
}
