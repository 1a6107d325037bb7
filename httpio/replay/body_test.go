package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/httpio/replay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// endless is a body of x without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// ready is a body of which all has arrived.
type ready struct{ *strings.Reader }

func (r ready) ReadNow(p []byte) (int, error) { return r.Read(p) }

const bound = 1 << 20

// begin returns a body, its memory, and a first reader.
func begin(source io.Reader, length, limit int64) (*replay.Body, *replay.Memory, *replay.Reader) {
	body, memory := new(replay.Body), replay.NewMemory(bound)
	body.Init(source, length, limit, memory)
	return body, memory, open(body)
}

func open(body *replay.Body) *replay.Reader {
	r := new(replay.Reader)
	body.Open(r)
	return r
}

func read(t *testing.T, r io.Reader, n int64) {
	t.Helper()
	if got, err := io.CopyN(io.Discard, r, n); err != nil {
		t.Fatalf("read %d of %d bytes: %v", got, n, err)
	}
}

// TestReservations keep what is read of a body for another attempt, and nothing more once there is none.
func TestReservations(t *testing.T) {
	const limit, reserve = 100, 64 << 10
	lent := func(m *replay.Memory) bool { return m.Left() < bound }

	body, memory, r := begin(endless{}, -1, limit)
	read(t, r, limit)
	equal(t, "reserved", body.Reserve(), true)
	read(t, r, 1000)
	equal(t, "handed over", body.HandOver(), true)
	read(t, r, 2*reserve)
	equal(t, "still", []bool{body.HandOver(), lent(memory)}, []bool{true, true})
	body.Resume(r)
	read(t, r, 1)
	equal(t, "for no attempt", []bool{lent(memory), body.Reserve(), body.HandOver(), body.Exceeded()},
		[]bool{false, false, false, true})

	flooded, memory, r := begin(endless{}, -1, limit)
	equal(t, "reserved", flooded.Reserve(), true)
	read(t, r, reserve+1)
	equal(t, "flooded", []bool{lent(memory), flooded.HandOver()}, []bool{false, false})

	next, memory, r := begin(endless{}, -1, limit)
	read(t, r, 10)
	equal(t, "reserved", next.Reserve() && next.HandOver(), true)
	_ = r.Close()
	r = open(next)
	read(t, r, limit)
	equal(t, "within the limit", lent(memory), true)
	read(t, r, 1)
	equal(t, "beyond the limit", lent(memory), false)

	var none *replay.Body
	equal(t, "no body", []bool{none.Reserve(), none.HandOver(), none.Complete(), none.Leave()}, []bool{
		true, true, true,
		false,
	})
	equal(t, "no body", []any{none.Failure(), none.Waited()}, []any{nil, time.Duration(0)})
}

// TestAttemptsReadTheSame from the beginning, whatever pieces they read.
func TestAttemptsReadTheSame(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 6<<10)
	for _, source := range []io.Reader{
		strings.NewReader(text), iotest.HalfReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text)),
		ready{strings.NewReader(text)},
	} {
		body, memory, r := begin(source, -1, -1)
		for _, n := range []int64{0, 1, 40_000, 4096, 90_000} {
			read(t, r, n)
			_ = r.Close()
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, replay.ErrClosed) {
				t.Errorf("a closed reader: %v", err)
			}
			equal(t, "replayed", body.HandOver(), true)
			r = open(body)
		}
		got, err := io.ReadAll(r)
		if string(got) != text || err != nil || !body.Complete() {
			t.Errorf("%T: %d bytes, %v", source, len(got), err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("behind the end: %d, %v", n, err)
		}
		total, _, more := body.Progress()
		equal(t, "progress", []any{total, more}, []any{int64(len(text)), false})
		r = open(body)
		read(t, r, 10)
		body.Release()
		if _, err := r.Read(make([]byte, 1)); !errors.Is(err, replay.ErrClosed) {
			t.Errorf("after the release: %v", err)
		}
		equal(t, "memory", memory.Left(), int64(bound))
	}
}

// TestSettle keeps what is buffered for the last attempt, until it has read that.
func TestSettle(t *testing.T) {
	body, memory, r := begin(endless{}, -1, 100)
	read(t, r, 10)
	equal(t, "handed over", body.HandOver(), true)
	_ = r.Close()
	last := open(body)
	body.Settle()
	read(t, last, 5)
	equal(t, "half", memory.Left() < bound, true)
	read(t, last, 5)
	equal(t, "all", memory.Left(), int64(bound))
	read(t, last, 1<<20)
	equal(t, "more", memory.Left(), int64(bound))

	body, memory, r = begin(endless{}, -1, 100)
	read(t, r, 10)
	body.Settle()
	equal(t, "no other attempt", []any{memory.Left(), body.HandOver()}, []any{int64(bound), false})
}

// TestFinish demands a body that was read to its end or its declared length, which transports don't read beyond.
func TestFinish(t *testing.T) {
	for _, test := range []struct {
		source       io.Reader
		length, read int64
		whole        bool
		exceeded     bool
	}{
		{endless{}, 1000, 999, false, false},
		{endless{}, 1000, 1000, true, false},
		{endless{}, -1, 1000, false, false},
		{strings.NewReader("body"), -1, 4, false, false},
		{strings.NewReader("body"), -1, 5, true, false},
		{endless{}, -1, 5001, false, true},
		{endless{}, 5001, 0, false, true},
	} {
		body, memory, r := begin(test.source, test.length, 5000)
		_, _ = io.CopyN(io.Discard, r, test.read)
		got := []bool{body.Finish(), body.Exceeded()}
		equal(t, fmt.Sprintf("%+v", test), got, []bool{test.whole, test.exceeded})
		if test.whole {
			text, err := io.ReadAll(open(body))
			again, _ := io.ReadAll(open(body))
			equal(t, "copies", []any{len(text), len(again), err}, []any{min(int(test.read), len(text)), len(text), nil})
		}
		body.Release()
		equal(t, "memory", memory.Left(), int64(bound))
	}
}

// TestAbandonedReads are for the next attempt.
func TestAbandonedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, client := io.Pipe()
		body, _, r := begin(source, -1, 4)
		_, _ = r.ReadNow(nil)
		pending := make(chan error)
		go func() {
			p := make([]byte, 100)
			n, err := r.Read(p)
			if string(p[:n]) != "0123" {
				err = fmt.Errorf("read %q, %w", p[:n], err)
			}
			pending <- err
			n, err = r.Read(p)
			if string(p[:n]) != "456789" {
				err = fmt.Errorf("read %q, %w", p[:n], err)
			}
			pending <- err
		}()
		_, _ = io.WriteString(client, "0123")
		equal(t, "first", <-pending, nil)
		equal(t, "replayed", body.HandOver(), true)
		synctest.Wait()
		_ = r.Close()
		equal(t, "whole while a read is pending", body.Finish(), false)
		next := open(body)
		p := make([]byte, 100)
		n, err := next.ReadNow(p)
		equal(t, "buffered", []any{string(p[:n]), err}, []any{"0123", nil})
		n, err = next.ReadNow(p)
		equal(t, "nothing more", []any{n, err}, []any{0, nil})
		_, _ = io.WriteString(client, "456789")
		_ = client.Close()
		equal(t, "abandoned", <-pending, nil)
		rest, err := io.ReadAll(next)
		equal(t, "rest", []any{string(rest), err}, []any{"456789", nil})
	})
}

// TestReadNow reads without waiting what is buffered or has arrived.
func TestReadNow(t *testing.T) {
	body, _, r := begin(ready{strings.NewReader("question")}, 8, -1)
	p := make([]byte, 5)
	for range 2 {
		n, err := r.ReadNow(p)
		equal(t, "now", []any{n, err, string(p)}, []any{5, nil, "quest"})
		rest, err := io.ReadAll(r)
		equal(t, "rest", []any{string(rest), err}, []any{"ion", nil})
		if _, err := r.ReadNow(p); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
		equal(t, "close", r.Close(), nil)
		if _, err := r.ReadNow(p); !errors.Is(err, replay.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		r = open(body)
	}
	_, _, r = begin(endless{}, -1, -1)
	n, err := r.ReadNow(p)
	equal(t, "not ready", []any{n, err}, []any{0, nil})
}

// TestFailures are the client's, and those of an interrupted read are no one's.
func TestFailures(t *testing.T) {
	odd := errors.New("odd")
	body, _, r := begin(io.MultiReader(strings.NewReader("body"), iotest.ErrReader(odd)), -1, -1)
	text, err := io.ReadAll(r)
	equal(t, "failure", []any{string(text), errors.Is(err, odd), errors.Is(body.Failure(), odd)},
		[]any{"body", true, true})
	text, err = io.ReadAll(open(body))
	equal(t, "again", []any{string(text), errors.Is(err, odd)}, []any{"body", true})
	_, _, more := body.Progress()
	equal(t, "more", more, false)

	body, _, r = begin(io.MultiReader(iotest.ErrReader(odd), strings.NewReader("body")), -1, -1)
	body.Interrupt()
	_, err = r.Read(make([]byte, 1))
	equal(t, "interrupted", []any{errors.Is(err, odd), body.Failure()}, []any{true, nil})
}

// TestWaited is how long the client has been waited for.
func TestWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, client := io.Pipe()
		body, _, r := begin(source, -1, -1)
		body.Time()
		pause := func(d time.Duration) { <-time.NewTimer(d).C }
		done := make(chan struct{})
		go func() {
			defer close(done)
			p := make([]byte, 10)
			_, _ = r.Read(p)
			pause(time.Minute) // an endpoint that takes its time
			_, _ = r.Read(p)
		}()
		pause(time.Second)
		equal(t, "first wait", body.Waited(), time.Second)
		_, _ = io.WriteString(client, "x")
		synctest.Wait()
		_, moved, _ := body.Progress()
		equal(t, "moved", time.Since(moved), time.Duration(0))
		pause(30 * time.Second)
		equal(t, "no wait", body.Waited(), time.Duration(0))
		pause(32 * time.Second)
		equal(t, "second wait", body.Waited(), 2*time.Second)
		body.Interrupt()
		_ = source.CloseWithError(os.ErrDeadlineExceeded)
		<-done
		equal(t, "interrupted wait", body.Waited(), 2*time.Second)
		open(body)
		equal(t, "next attempt", body.Waited(), time.Duration(0))
	})
}

// TestDetach lets a reader stop waiting. What comes then is for the next.
func TestDetach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, client := io.Pipe()
		body, _, r := begin(source, -1, -1)
		equal(t, "attached", body.Leave(), false)
		body.Detach(r)
		go func() { _, _ = io.WriteString(client, "first") }()
		p := make([]byte, 3)
		n, err := io.ReadFull(r, p)
		equal(t, "first", []any{string(p[:n]), err}, []any{"fir", nil})
		left := make(chan error)
		go func() {
			_, err := io.ReadAll(r)
			left <- err
		}()
		synctest.Wait()
		equal(t, "left", []bool{body.Leave(), body.Leave()}, []bool{true, true})
		equal(t, "error", errors.Is(<-left, replay.ErrClosed), true)
		equal(t, "failure", body.Failure(), nil)
		equal(t, "replayed", body.HandOver(), true)
		next := open(body)
		go func() {
			_, _ = io.WriteString(client, "second")
			_ = client.Close()
		}()
		text, err := io.ReadAll(next)
		equal(t, "all", []any{string(text), err}, []any{"firstsecond", nil})
	})
}

// TestMemoryIsReservedForWhatHasCome, not for what a client says will come.
func TestMemoryIsReservedForWhatHasCome(t *testing.T) {
	for _, test := range []struct{ length, read, least, most int64 }{
		{1 << 40, 10 << 10, 10 << 10, 64 << 10},
		{10, 10, 10, 4 << 10},
		{-1, 100, 100, 4 << 10},
		{300_000, 200_000, 200_000, 300_000},
		{-1, 200_000, 200_000, 400_000},
	} {
		body, memory, r := begin(endless{}, test.length, -1)
		read(t, r, test.read)
		if lent := bound - memory.Left(); lent < test.least || lent > test.most {
			t.Errorf("%d bytes are lent: %+v", lent, test)
		}
		body.Release()
	}
	body, memory, r := begin(endless{}, -1, -1)
	read(t, r, 2*bound)
	equal(t, "beyond the bound", []any{memory.Left(), body.HandOver()}, []any{int64(bound), false})
}

func TestFill(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	text := strings.Repeat("0123456789", 10_000)
	for _, inMemory := range []int64{0, 1, 4096, 50_000, 100_000} {
		for _, limit := range []int64{-1, 100_000} {
			body, memory, r := begin(strings.NewReader(text), -1, limit)
			equal(t, "fill", body.Fill(inMemory), nil)
			for range 2 {
				got, err := io.ReadAll(r)
				equal(t, "text", []any{string(got) == text, err}, []any{true, nil})
				r = open(body)
			}
			body.Release()
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, replay.ErrClosed) {
				t.Errorf("after the release: %v", err)
			}
			equal(t, "memory", memory.Left(), int64(bound))
		}
	}
	body, _, _ := begin(strings.NewReader(text), -1, 99_999)
	equal(t, "too large", errors.Is(body.Fill(0), replay.ErrTooLarge), true)
	broken := errors.New("broken")
	body, _, _ = begin(iotest.ErrReader(broken), -1, -1)
	equal(t, "broken", errors.Is(body.Fill(0), broken), true)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	body, _, _ = begin(strings.NewReader(text), -1, -1)
	_, disk := errors.AsType[*replay.DiskError](body.Fill(10))
	equal(t, "disk", disk, true)
}

func TestStatus(t *testing.T) {
	for want, errs := range map[int][]error{
		413: {&http.MaxBytesError{Limit: 1}},
		504: {context.DeadlineExceeded},
		408: {os.ErrDeadlineExceeded, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}},
		499: {context.Canceled, io.ErrUnexpectedEOF, &net.OpError{Op: "read", Err: errors.New("reset")}},
		400: {errors.New("malformed chunk")},
	} {
		for _, err := range errs {
			equal(t, err.Error(), replay.Status(fmt.Errorf("body: %w", err)), want)
		}
	}
}
