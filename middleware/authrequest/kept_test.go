package authrequest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/authrequest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// counting is a server that counts, and answers with a status and headers of the request.
func counting(t testing.TB) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if name, value, found := strings.Cut(r.Header.Get("X-Says"), ": "); found {
			w.Header().Set(name, value)
		}
		w.Header().Set("X-User", r.Header.Get("X-Token"))
		var status int
		_, _ = fmt.Sscan(r.Header.Get("X-Answer"), &status)
		w.WriteHeader(status)
	}), asked
}

// TestKept asks twice and compares how often the server was asked.
func TestKept(t *testing.T) {
	address, asked := counting(t)
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	future := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for name, test := range map[string]struct {
		durations []string
		status    int
		says      string
		times     int64
	}{
		"by default":               {nil, 200, "", 1},
		"401 by default":           {nil, 401, "", 1},
		"403 not by default":       {nil, 403, "", 2},
		"500 of any":               {[]string{"any 5m"}, 500, "", 1},
		"a time alone":             {[]string{"5m"}, 200, "", 1},
		"a time alone, 202":        {[]string{"5m"}, 202, "", 2},
		"no time":                  {[]string{"200 0", "any 5m"}, 200, "", 2},
		"the first that fits":      {[]string{"200 5m", "any 0s"}, 200, "", 1},
		"Set-Cookie":               {nil, 200, "Set-Cookie: a=b", 2},
		"Vary":                     {nil, 200, "Vary: Accept", 2},
		"no-store":                 {nil, 200, "Cache-Control: max-age=60, no-store", 2},
		"private":                  {nil, 200, "Cache-Control: Private", 2},
		"max-age":                  {nil, 403, "Cache-Control: public, max-age=60", 1},
		"max-age of 0":             {nil, 200, "Cache-Control: max-age=0", 2},
		"s-maxage goes before":     {nil, 200, "Cache-Control: max-age=60, s-maxage=0", 2},
		"a broken max-age":         {nil, 200, "Cache-Control: max-age=x", 2},
		"X-Accel-Expires":          {nil, 403, "X-Accel-Expires: 60", 1},
		"X-Accel-Expires of 0":     {nil, 200, "X-Accel-Expires: 0", 2},
		"X-Accel-Expires in past":  {nil, 200, "X-Accel-Expires: @1000", 2},
		"Expires":                  {nil, 403, "Expires: " + future, 1},
		"Expired":                  {nil, 200, "Expires: " + past, 2},
		"Expires is broken":        {nil, 200, "Expires: 0", 2},
		"what is used is too long": {nil, 200, "X-Long: " + strings.Repeat("x", 9000), 2},
	} {
		t.Run(name, func(t *testing.T) {
			step := build(t, dynamic.AuthRequest{
				URL: address, CacheKey: "$http_x_token", CacheDuration: test.durations, ResponseHeaders: []string{"X-User", "X-Long"},
			})
			handler := step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = fmt.Fprint(w, r.Header["X-User"])
			}))
			before := asked.Load()
			for range 2 {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, middlewaretest.Request(t, "GET /", "X-Token: t1", fmt.Sprint("X-Answer: ", test.status),
					"X-Says: "+test.says))
				if test.status == 200 && (w.Code != 200 || w.Body.String() != "[t1]") {
					t.Errorf("%d %s", w.Code, w.Body)
				} else if want := map[int]int{202: 200, 401: 401, 403: 403, 500: 500}[test.status]; want != 0 && w.Code != want {
					t.Errorf("status %d, want %d", w.Code, want)
				}
			}
			if times := asked.Load() - before; times != test.times {
				t.Errorf("the server was asked %d times, want %d", times, test.times)
			}
		})
	}
}

// TestKeptApart has other keys and other owners decide anew.
func TestKeptApart(t *testing.T) {
	address, asked := counting(t)
	step := build(t, dynamic.AuthRequest{URL: address, CacheKey: "$http_x_token", ResponseHeaders: []string{"X-User"}})
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.Header["X-User"]) })
	a, b := step.For("router a@file").Wrap(next), step.For("router b@file").Wrap(next)
	for i, test := range []struct {
		handler http.Handler
		token   string
		times   int64
	}{{a, "t1", 1}, {a, "t1", 1}, {a, "t2", 2}, {b, "t1", 3}, {b, "t1", 3}, {a, "", 4}, {a, "", 4}} {
		w := httptest.NewRecorder()
		test.handler.ServeHTTP(w, middlewaretest.Request(t, "GET /", "X-Answer: 200", "X-Token: "+test.token))
		want := "[" + test.token + "]"
		if asked.Load() != test.times || w.Body.String() != want {
			t.Errorf("%d: asked %d times, %s", i, asked.Load(), w.Body)
		}
	}
	if got := step.Counts()["remembered"]; got != 3 {
		t.Errorf("%d are remembered", got)
	}
}

// TestExpires asks again after the time.
func TestExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		step, err := authrequest.New("auth@file", dynamic.AuthRequest{
			URL: "http://auth.test", CacheKey: "x", CacheDuration: []string{"any 1m30s"},
		}, authrequest.Options{Dial: pipes(&asked, "HTTP/1.1 204 No Content\r\n\r\n")})
		if err != nil {
			t.Fatal(err)
		}
		defer step.Close()
		handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for _, want := range []int64{1, 1, 2} {
			handler.ServeHTTP(httptest.NewRecorder(), middlewaretest.Request(t, "GET /"))
			if asked.Load() != want {
				t.Errorf("asked %d times, want %d", asked.Load(), want)
			}
			<-time.NewTimer(50 * time.Second).C
		}
	})
}

// pipes returns a dialer to a server in memory that has one answer.
func pipes(asked *atomic.Int64, answer string) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close() //nolint:errcheck // It is in memory.
			for from := bufio.NewReader(far); ; {
				if _, err := http.ReadRequest(from); err != nil {
					return
				}
				asked.Add(1)
				if _, err := io.WriteString(far, answer); err != nil {
					return
				}
			}
		}()
		return near, nil
	}
}

// TestKeepsFew has more keys than are kept, from several goroutines. Nothing of another key is ever taken.
func TestKeepsFew(t *testing.T) {
	address, asked := counting(t)
	step := build(t, dynamic.AuthRequest{URL: address, CacheKey: "$http_x_token", ResponseHeaders: []string{"X-User"}})
	handler := step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Header["X-User"])
	}))
	filler := strings.Repeat("x", 6000) // 42 entries fill a part of the cache.
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 1000 {
				token := fmt.Sprint(worker, "-", i, filler)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, middlewaretest.Request(t, "GET /", "X-Answer: 200", "X-Token: "+token))
				if w.Body.String() != "["+token+"]" {
					t.Errorf("status %d for another user", w.Code)
				}
			}
		})
	}
	all.Wait()
	if asked.Load() != 4000 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// TestKeepsFewForAll has many owners keep answers that are long.
func TestKeepsFewForAll(t *testing.T) {
	const owners, keys, length = 60, 100, 8<<10 - 300
	answer := "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: " + strings.Repeat("x", length) + "\r\n\r\n"
	var sent atomic.Int64
	step, err := authrequest.New("auth@file", dynamic.AuthRequest{
		URL: "http://auth.test", CacheKey: "$http_x_token", ResponseHeaders: []string{"X-Long"},
	}, authrequest.Options{Dial: pipes(&sent, answer)})
	if err != nil {
		t.Fatal(err)
	}
	defer step.Close()
	before := heap()
	var kept []http.Handler
	for owner := range owners {
		handler := step.For(fmt.Sprint("router ", owner)).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		kept = append(kept, handler)
		for i := range keys {
			handler.ServeHTTP(httptest.NewRecorder(), middlewaretest.Request(t, "GET /", fmt.Sprint("X-Token: ", i)))
		}
	}
	if grown := heap() - before; sent.Load() != owners*keys || grown > 40<<20 {
		t.Errorf("%d requests, %d bytes are kept", sent.Load(), grown)
	}
	runtime.KeepAlive(kept)
}

// heap returns how many bytes are in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestSharedCache has authRequests of other servers share a cache, of which each is given its own answers.
func TestSharedCache(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nX-User: %d\r\nContent-Length: 0\r\n\r\n"
	cache := authrequest.NewCache()
	for i := range 3 {
		var sent atomic.Int64
		step, err := authrequest.New("auth@file", dynamic.AuthRequest{
			URL: "http://auth.test", CacheKey: "x", ResponseHeaders: []string{"X-User"},
		}, authrequest.Options{Dial: pipes(&sent, fmt.Sprintf(answer, i)), Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(step.Close)
		handler := step.For("router").Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, r.Header["X-User"])
		}))
		for range 2 {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, middlewaretest.Request(t, "GET /"))
			if want := fmt.Sprintf("[%d]", i); w.Body.String() != want || sent.Load() != 1 {
				t.Errorf("%s after %d requests, want %s", w.Body, sent.Load(), want)
			}
		}
	}
}

// FuzzCacheDuration checks that what is accepted is never kept longer than a hundred years, and never panics.
func FuzzCacheDuration(f *testing.F) {
	for _, text := range []string{
		"200 202 401 5m", "any 1y2M3w4d5h6m7s", "5", "99999999999y", "200", "any", "1s1h", "-5m",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		step, err := authrequest.New("m@file", dynamic.AuthRequest{
			URL: "http://auth.test", CacheKey: "x", CacheDuration: []string{text},
		}, authrequest.Options{})
		if err != nil && (step != nil || !strings.HasPrefix(err.Error(), "authRequest.cacheDuration")) {
			t.Fatal(err)
		}
	})
}
