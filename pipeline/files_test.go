package pipeline

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// touched are files that change when the test says so.
type touched struct {
	changed chan struct{}
	names   []string
}

func (f *touched) Changed() <-chan struct{} { return f.changed }

func (f *touched) Stale() []string {
	names := f.names
	f.names = nil
	return names
}

// TestLoopCompilesWhatWasMadeOfFilesThatChanged wants one compilation that names the middlewares, although no provider has spoken.
func TestLoopCompilesWhatWasMadeOfFilesThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "file")
		files := &touched{changed: make(chan struct{}, 1)}
		r.options.Files = files
		r.run(t)
		r.send("file", routers("a", "Host(`a`)"))
		pass(time.Second)
		files.names = []string{"users@file"}
		files.changed <- struct{}{}
		pass(time.Second)
		files.changed <- struct{}{} // Somebody has seen it already.
		pass(time.Second)
		compiled := r.seen().compiled
		if len(compiled) != 2 {
			t.Fatalf("compiled %d times, want 2", len(compiled))
		}
		if got := compiled[1].changed; !slices.Equal(got, []string{"users@file"}) {
			t.Errorf("changed is %q", got)
		}
	})
}
