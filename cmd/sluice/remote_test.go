package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The API may stand behind a guard, and the explained request may hold a token.
func TestRemoteQuestionsKeepSecrets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "anna" || password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte("[]"))
	}))
	address := strings.TrimPrefix(server.URL, "http://")
	var stdout, stderr strings.Builder
	if code := run([]string{"routes", "--json", "--api", "http://anna:hunter2@" + address}, nil, &stdout,
		&stderr); code != exitNone ||
		stdout.String() != "[]\n" {
		t.Errorf("exit code %d, %q, %q", code, stdout.String(), stderr.String())
	}
	explain := []string{"explain", "GET", "http://a.test/", "-H", "Authorization: hunter3", "--api"}
	for api, says := range map[string]string{
		"http://anna:wrong2@" + address:  "401 Unauthorized",
		"http://anna:wrong2@127.0.0.1:1": "refused",
	} {
		stderr.Reset()
		if code := run(append(explain, api), nil, &stdout, &stderr); code != exitBroken || !strings.Contains(stderr.String(),
			says) {
			t.Errorf("exit code %d, %q", code, stderr.String())
		}
		if said := stderr.String(); strings.Contains(said, "hunter3") || strings.Contains(said, "wrong2") {
			t.Errorf("%q holds a secret", said)
		}
	}
	server.Close()
}
