package compress

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func made(t testing.TB, change func(*dynamic.Compress)) *Compress {
	t.Helper()
	var config dynamic.Compress
	config.SetDefaults()
	if change != nil {
		change(&config)
	}
	c, err := New("test@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func BenchmarkNothingToDo(b *testing.B) {
	for _, headers := range [][]string{nil, {"Accept-Encoding: identity"}, {"Accept-Encoding: deflate"}} {
		name := "without Accept-Encoding"
		if headers != nil {
			name = headers[0]
		}
		b.Run(name, func(b *testing.B) {
			handler := made(b, nil).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			r := middlewaretest.Request(b, "GET /", headers...)
			w := new(middlewaretest.Writer)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
