package pipeline_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
)

// touched are files that change when the test makes them.
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

// TestLoopCompilesWhatWasMadeOfFilesThatChanged wants one compilation that names the middlewares, although no provider
// has spoken.
func TestLoopCompilesWhatWasMadeOfFilesThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := &touched{changed: make(chan struct{}, 1)}
		r := newRigWith(t, func(o *pipeline.Options) { o.Files = files }, "file")
		r.run(t)
		r.send("file", routers("a", "Host(`a`)"))
		pass(time.Second)
		files.names = []string{"users@file"}
		files.changed <- struct{}{}
		pass(time.Second)
		files.changed <- struct{}{} // Stale has returned it already.
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

// TestFilesThatChangeWhileATableWaits wants the change compiled after the table is activated that did not know of it.
func TestFilesThatChangeWhileATableWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := &touched{changed: make(chan struct{}, 1)}
		r := newRigWith(t, func(o *pipeline.Options) { o.Files = files }, "file")
		r.run(t)
		first := needing("k")
		first.HTTP.Middlewares = immutable.Of(map[string]*dynamic.Middleware{"users": {}})
		r.send("file", first)
		files.names = []string{"users@file"}
		files.changed <- struct{}{}
		synctest.Wait()
		r.endpoints("file", "k") // Activates the first table before the change of the file is compiled.
		pass(2 * time.Second)
		compiled := r.seen().compiled
		last := compiled[len(compiled)-1]
		if len(compiled) != 2 || !slices.Equal(last.changed, []string{"users@file"}) {
			t.Fatalf("compiled %+v", compiled)
		}
		generations := r.State().Generations
		if latest := generations[len(generations)-1]; latest.Changed != 1 ||
			latest.Changes[0].Before != latest.Changes[0].After {
			t.Errorf("the generation is %+v", latest)
		}
	})
}
