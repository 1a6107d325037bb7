package inspector_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/api/inspector"
)

// source keeps the level that was set.
type source struct{ level string }

func (s *source) Status() inspector.Status {
	return inspector.Status{
		VirtualEnv: "shop/demo", Services: map[string]inspector.Service{"shop/web:80": {Environments: []string{"dev"}}},
		Labels: map[string][]string{"shop": {"dev"}},
	}
}

func (s *source) SetLevel(level string) error {
	if s.level = level; level == "error" {
		return errors.New("not now")
	}
	return nil
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		target, host, origin string
		site                 string
		status               int
		want, level          string
	}{
		{target: "/status", status: 200, want: `"VirtualEnv": "shop/demo"`},
		{target: "/version", status: 200, want: `"Version": "1.2.3"`},
		{target: "/log?level=DEBUG", status: 200, want: "log level changed to DEBUG", level: "debug"},
		{target: "/log?level=ERROR", status: 500, want: "not now", level: "error"},
		{target: "/log?level=debug", status: 400, want: "level must be one of"},
		{target: "/log", status: 400, want: "level must be one of"},
		{target: "/other", status: 404},
		{target: "/status", host: "evil.test", status: 403},
		{target: "/log?level=DEBUG", host: "127.0.0.1.evil.test:8000", origin: "http://evil.test", status: 403},
		{target: "/status", host: "127.0.0.1.evil.test:8000", status: 403},
		{target: "/log?level=DEBUG", site: "cross-site", status: 403},
		{target: "/status", site: "none", status: 200, want: "shop/demo"},
		{target: "/status", host: "[::1]", status: 200, want: "shop/demo"},
		{target: "/status", host: "[::1]:8000", status: 200, want: "shop/demo"},
		{target: "/status", host: "localhost:8000", status: 200, want: "shop/demo"},
	} {
		at := &source{}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.target, http.NoBody)
		if request.Host = "127.0.0.1:8000"; test.host != "" {
			request.Host = test.host
		}
		if test.site != "" {
			request.Header.Set("Sec-Fetch-Site", test.site)
		}
		if test.origin != "" {
			request.Header.Set("Origin", test.origin)
		}
		recorder := httptest.NewRecorder()
		inspector.NewHandler(at, inspector.Version{Version: "1.2.3"}).ServeHTTP(recorder, request)
		if recorder.Code != test.status || !strings.Contains(recorder.Body.String(), test.want) || at.level != test.level {
			t.Errorf("%+v: %d %q, level %q", test, recorder.Code, recorder.Body, at.level)
		}
	}
}
