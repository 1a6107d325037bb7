package reload

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestATypoInASharedMiddlewareIsNoOutage wants requests served by the last valid definition, no new table, and a
// verdict with the reason until the next valid definition.
func TestATypoInASharedMiddlewareIsNoOutage(t *testing.T) {
	t.Parallel()
	s, client := startSimple(t, "true", map[string]string{"one.yaml": simple("1")})
	await(t, client, "/", answersWith("1"))
	before := s.Readiness().Generation
	s.Overwrite("one.yaml", strings.Replace(simple("2"), "customResponseHeaders", "customResponseHeader", 1))
	found := s.Until("a verdict", func(r harness.Readiness) bool { return r.Retained == 1 })
	if one := found.Verdicts[0]; one.Status != "retained" || one.Name != "version@file" ||
		!strings.Contains(one.Origin, "one.yaml:") || !strings.Contains(one.Reason, "refused since 20") {
		t.Errorf("the verdict is %+v", one)
	}
	s.WaitLog("invalid definition refused", "version@file")
	if !answersWith("1")(client.Get("/")) || found.Status != http.StatusOK || s.Readiness().Generation != before {
		t.Errorf("the last valid definition is not in use: %+v", s.Readiness())
	}
	s.Overwrite("one.yaml", simple("3"))
	await(t, client, "/", answersWith("3"))
	s.Until("no verdict", func(r harness.Readiness) bool { return len(r.Verdicts) == 0 })
}

// TestRemovedUsersOfARetainedMiddlewareAreRefused wants the file of users that is in use to be read again although the
// declared definition, with another file, is invalid.
func TestRemovedUsersOfARetainedMiddlewareAreRefused(t *testing.T) {
	t.Parallel()
	const (
		alice = "alice:$apr1$H6uskkkW$IgXLP6ewTrSuBkTrqE8wj/\n"
		bob   = "bob:$apr1$d9hr9HBB$4HxwgUir3HP4EsggP/QNo0\n" // Both are from the documentation of Traefik: test, test2.
	)
	guarded := func(file string) string {
		return "http:\n  routers:\n    r: {rule: PathPrefix(`/`), service: s, middlewares: [auth]}\n" +
			"  middlewares:\n    auth: {basicAuth: {usersFile: ${DIR}/" + file + "}}\n" +
			"  services:\n    s: {loadBalancer: {servers: [{url: \"http://${BACKEND}\"}]}}\n"
	}
	backend := harness.StartBackend(t, "one", nil)
	users := filepath.Join(t.TempDir(), "users")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(users, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(alice + bob)
	vars := map[string]string{"WATCH": "true", "BACKEND": backend.H1}
	text := strings.ReplaceAll(guarded("users"), "${DIR}/users", users)
	s := harness.Start(t, harness.Setup{Static: static, Dynamic: map[string]string{"a.yaml": text}, Vars: vars})
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	status := func() int {
		request := client.Request(http.MethodGet, "/", nil)
		request.SetBasicAuth("bob", "test2")
		return client.Send(request).StatusCode
	}
	if got := status(); got != http.StatusOK {
		t.Fatalf("bob is answered %d", got)
	}
	s.Overwrite("a.yaml", strings.ReplaceAll(text, users, users+".missing"))
	s.Until("a verdict", func(r harness.Readiness) bool { return r.Retained == 1 })
	write(alice)
	harness.Until(t, "bob is refused", func() bool { return status() == http.StatusUnauthorized })
	if found := s.Readiness(); found.Retained != 1 {
		t.Errorf("%+v, want the retained middleware", found)
	}
}
