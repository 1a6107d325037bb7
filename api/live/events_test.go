package live

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
)

// ear is a writer whose text a test reads while it is written.
type ear struct {
	http.ResponseWriter
	*io.PipeWriter
}

func (e ear) Write(p []byte) (int, error) { return e.PipeWriter.Write(p) }
func (e ear) Header() http.Header         { return e.ResponseWriter.Header() }
func (ear) Flush()                        {}

// listener reads events, one by one.
type listener struct {
	*bufio.Reader
	header http.Header
	stop   func()
}

// listen opens a stream, which ends with the test or with stop.
func listen(t *testing.T, handler http.Handler, last string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/events", http.NoBody)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	out, in := io.Pipe()
	recorder := httptest.NewRecorder()
	var running sync.WaitGroup
	running.Go(func() {
		handler.ServeHTTP(ear{recorder, in}, request)
		_ = in.Close()
	})
	stop := func() {
		cancel()
		_ = out.Close()
		running.Wait()
	}
	t.Cleanup(stop)
	return &listener{Reader: bufio.NewReader(out), header: recorder.Header(), stop: stop}
}

// next returns the next event as it was sent.
func (l *listener) next(t *testing.T) string {
	t.Helper()
	var event strings.Builder
	for {
		line, err := l.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended after %q: %v", event.String(), err)
		}
		if line == "\n" {
			return event.String()
		}
		event.WriteString(line)
	}
}

func (l *listener) expect(t *testing.T, want string) {
	t.Helper()
	if diff := cmp.Diff(want, l.next(t)); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

// follow puts a state behind the latest one, as the pipeline does.
func (s *states) follow(next *pipeline.State, news chan struct{}) chan struct{} {
	further := make(chan struct{})
	next.Changed = further
	s.now.Store(next)
	close(news)
	return further
}

// idle returns a state that nothing follows.
func idle() *pipeline.State {
	return &pipeline.State{State: provider.State{Changed: make(chan struct{})}}
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		synced := map[string]provider.Status{"file": {State: dynamic.StateSynced, Since: time.Now(), Required: true}}
		failing := map[string]provider.Status{"file": {
			State: dynamic.StateSynced, Since: time.Now(), Required: true,
			Reason: "no disk",
		}}
		generations := twoGenerations()
		verdicts := generations[1].Worse
		news := make(chan struct{})
		all := newStates(&pipeline.State{
			Generation: 6, Ready: true, Generations: generations[:1], Providers: synced,
			State: provider.State{Changed: news},
		})
		_, handler := mounted(Options{State: all, Version: "v1"})
		l := listen(t, handler, "")
		l.expect(t, "event: hello\ndata: {\"version\":\"v1\",\"generation\":6,\"ready\":true}\n")
		well := `[{"name":"file","state":"synced","required":true,"ageSeconds":0}]`
		l.expect(t, "event: providers\ndata: "+well+"\n")
		if got := l.header.Get("Content-Type"); got != "text/event-stream" || l.header.Get("Cache-Control") != "no-store" ||
			l.header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("headers: %v", l.header)
		}

		news = all.follow(&pipeline.State{
			Generation: 7, Ready: true, Generations: generations, Providers: synced,
			State: provider.State{Verdicts: verdicts},
		}, news)
		l.expect(t, "id: 7\nevent: generation\ndata: "+seventh+"\n")
		l.expect(t, `event: verdicts`+"\n"+
			`data: {"worse":[{"kind":"middleware","name":"auth@file","status":"degraded","code":"Degraded","reason":"so `+
			`so","origin":"a.yaml"}],"recovered":[]}`+"\n")

		news = all.follow(&pipeline.State{
			Generation: 7, Ready: true, Generations: generations, Providers: failing,
			State: provider.State{Verdicts: verdicts},
		}, news)
		l.expect(t, "event: providers\ndata: "+strings.Replace(well, `true,`, `true,"reason":"no disk",`, 1)+"\n")
		news = all.follow(&pipeline.State{Generation: 7, Ready: true, Generations: generations, Providers: failing}, news)
		l.expect(t, `event: verdicts`+"\n"+`data: {"worse":[],"recovered":[{"kind":"middleware","name":"auth@file"}]}`+"\n")
		news = all.follow(&pipeline.State{Generation: 7, Generations: generations, Providers: failing}, news)
		l.expect(t, "event: ready\ndata: {\"generation\":7,\"ready\":false}\n")
		began := time.Now()
		l.expect(t, ":\n")
		if waited := time.Since(began); waited > heartbeat {
			t.Errorf("the heartbeat came after %v", waited)
		}
		_ = news
	})
}

// A provider that loses its source may spoil ten thousand routers at once.
func TestEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var verdicts []dynamic.Verdict
		for i := range pipeline.MaxChanges + 50 {
			verdicts = append(verdicts, dynamic.Verdict{Ref: dynamic.Ref{
				Kind: dynamic.KindRouter,
				Name: fmt.Sprintf("r%03d@file", i),
			}, Status: dynamic.Degraded})
		}
		news := make(chan struct{})
		all := newStates(&pipeline.State{State: provider.State{Changed: news}})
		_, handler := mounted(Options{State: all})
		l := listen(t, handler, "")
		l.next(t)
		l.next(t)
		for _, field := range []string{`"worse"`, `"recovered"`} {
			news = all.follow(&pipeline.State{State: provider.State{Verdicts: verdicts}}, news)
			verdicts = nil
			event := l.next(t)
			if n := strings.Count(event, `"name"`); n != pipeline.MaxChanges || !strings.Contains(event, field+":[{") {
				t.Errorf("%d objects in %.100s", n, event)
			}
		}
	})
}

func TestEventsResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seventh := idle()
		seventh.Generation, seventh.Generations = 7, twoGenerations()
		all := newStates(seventh)
		_, handler := mounted(Options{State: all})
		for last, ids := range map[string]string{"5": "id: 6 id: 7", "6": "id: 7", "7": "", "99": "", "x": "", "": ""} {
			l := listen(t, handler, last)
			l.expect(t, "event: hello\ndata: {\"generation\":7,\"ready\":false}\n")
			var got []string
			for {
				event := l.next(t)
				if strings.HasPrefix(event, "event: providers") {
					break
				}
				id, _, _ := strings.Cut(event, "\n")
				got = append(got, id)
			}
			if strings.Join(got, " ") != ids {
				t.Errorf("after %q: %q, want %q", last, got, ids)
			}
			l.stop()
		}
	})
}

// A listener may come back with a number of a Sluice that was started again since, which counts from 1.
func TestEventsAfterAnotherStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		generations, news := twoGenerations(), make(chan struct{})
		all := newStates(&pipeline.State{Generation: 6, Generations: generations[:1], State: provider.State{Changed: news}})
		_, handler := mounted(Options{State: all})
		l := listen(t, handler, "99")
		l.expect(t, "event: hello\ndata: {\"generation\":6,\"ready\":false}\n")
		l.expect(t, "event: providers\ndata: []\n")
		all.follow(&pipeline.State{Generation: 7, Generations: generations}, news)
		l.expect(t, "id: 7\nevent: generation\ndata: "+seventh+"\n")
	})
}

func TestEventsHaveFewListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, handler := mounted(Options{State: newStates(idle())})
		var all []*listener
		for range maxListeners {
			l := listen(t, handler, "")
			l.next(t)
			all = append(all, l)
		}
		if answer := ask(t, handler, "/api/events"); answer.Code != http.StatusServiceUnavailable ||
			answer.Header().Get("Retry-After") == "" {
			t.Errorf("one more is answered with %d", answer.Code)
		}
		all[0].stop()
		again := listen(t, handler, "")
		again.next(t)
		live.Drain()
		live.Drain()
		for _, l := range append(all[1:], again) {
			if _, err := io.Copy(io.Discard, l); err != nil {
				t.Errorf("the stream does not end: %v", err)
			}
		}
		if answer := ask(t, handler, "/api/events"); answer.Code != http.StatusServiceUnavailable {
			t.Errorf("while Sluice drains: %d", answer.Code)
		}
	})
}

// blockedWriter is a writer that accepts nothing until its deadline.
type blockedWriter struct {
	http.ResponseWriter
	deadline time.Time
}

func (s *blockedWriter) SetWriteDeadline(deadline time.Time) error {
	s.deadline = deadline
	return nil
}

func (s *blockedWriter) Write([]byte) (int, error) {
	timer := time.NewTimer(time.Until(s.deadline))
	<-timer.C
	return 0, context.DeadlineExceeded
}

func TestEventsCutOffStuckReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, handler := mounted(Options{State: newStates(idle())})
		began := time.Now()
		handler.ServeHTTP(&blockedWriter{ResponseWriter: httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(),
			http.MethodGet, "/api/events", http.NoBody))
		if took := time.Since(began); took != writeTimeout {
			t.Errorf("it took %v, want %v", took, writeTimeout)
		}
		if n := live.listeners.Load(); n != 0 {
			t.Errorf("%d listeners are counted", n)
		}
	})
}

// buffered is a writer that takes everything, and finds out that the client has gone when it passes that on.
type buffered struct{ http.ResponseWriter }

func (buffered) FlushError() error { return context.DeadlineExceeded }

func TestEventsEndWhereNothingIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, handler := mounted(Options{State: newStates(idle())})
		began := time.Now()
		handler.ServeHTTP(buffered{httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			"/api/events", http.NoBody))
		if took := time.Since(began); took != 0 || live.listeners.Load() != 0 {
			t.Errorf("it took %v, and %d listeners are counted", took, live.listeners.Load())
		}
	})
}

func TestEventsByHEAD(t *testing.T) {
	_, handler := mounted(Options{State: newStates(&pipeline.State{})})
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/api/events", http.NoBody))
	if recorder.Code != http.StatusOK || recorder.Body.Len() != 0 {
		t.Errorf("%d %q", recorder.Code, recorder.Body)
	}
}
