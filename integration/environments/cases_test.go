package environments

import (
	"net/url"
	"strings"
	"testing"
)

// applications are those of KT-env's acceptance tests, with the tags of their workloads.
func applications() string {
	var all strings.Builder
	for app, tags := range map[string][]string{
		"app-js": {"dev", "dev.proj1"}, "app-go": {"dev", "dev.proj2"}, "app-java": {"dev", "dev.proj1", "dev.proj1.feature1"},
	} {
		all.WriteString(service(app))
		for _, tag := range tags {
			if app == "app-go" {
				all.WriteString(statefulSet(app, tag, "1"))
			} else {
				all.WriteString(deployment(app, tag, "1"))
			}
		}
	}
	return all.String()
}

// TestAcceptanceOfKTEnv runs the cases of KT-env's acceptance test: app-js calls app-go, and that app-java, each through
// the edge with the header that it got. Seven workloads have five tags.
func TestAcceptanceOfKTEnv(t *testing.T) {
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), applications())
	for _, path := range []string{"app-js-dev-x", "app-js-dev-proj1-x", "app-java-dev-x", "app-java-dev-proj1-x",
		"app-java-dev-proj1-feature1-x"} {
		f.Deployed("shop/" + path)
	}
	f.Endpoints("shop/app-go", 2)
	f.becomes("app-java", "dev.proj1.feature1", "app-java-dev-proj1-feature1")
	f.becomes("app-go", "dev.proj2", "app-go-dev-proj2")
	f.becomes("app-js", "dev.proj1", "app-js-dev-proj1")
	query := url.Values{"pass": {header}, "next": {"app-go,app-java"}, "via": {f.sluice.Addr("web")}}.Encode()
	for tag, want := range map[string][]string{
		"dev.proj1":          {"dev.proj1", "dev", "dev.proj1"},
		"dev.proj1.feature1": {"dev.proj1", "dev", "dev.proj1.feature1"},
		"dev.proj2":          {"dev", "dev.proj2", "dev"},
		"dev":                {"dev", "dev", "dev"},
		"":                   {"dev", "dev", "dev"},
		"dev.proj1.feature9": {"dev.proj1", "dev", "dev.proj1"},
		"dev.proj1-abc":      {"dev", "dev", "dev"},
	} {
		response := f.get("app-js/?"+query, tag)
		var got []string
		for line := range strings.Lines(response.Text) {
			pod, carried, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if got = append(got, workload(pod)); carried != tag {
				t.Errorf("with %q: %s got the header %q", tag, pod, carried)
			}
		}
		apps := []string{"app-js", "app-go", "app-java"}
		for i := range want {
			want[i] = name(apps[i], want[i])
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q is answered by %q, want %q", tag, got, want)
		}
	}
}
