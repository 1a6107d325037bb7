package annotation_test

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

func TestSnippets(t *testing.T) {
	snippets := func(options *annotation.Options) any { return options.Snippets }
	settings := annotation.DefaultSettings()
	settings.Risk = annotation.Critical
	runWith(t, settings, []reads{
		{
			name: "harmless",
			annotations: map[string]string{
				"configuration-snippet": "add_header a b;", "server-snippet": "gzip on;",
				"stream-snippet": "server { deny all; }",
			},
			verdicts: verdicts{
				"configuration-snippet": unsupported, "server-snippet": unsupported, "stream-snippet": unsupported,
			},
			got: snippets, want: annotation.Snippets{
				Configuration: "add_header a b;", Server: "gzip on;",
			},
		},
		{
			name: "access", annotations: one("configuration-snippet", "deny all;"),
			verdicts: verdicts{"configuration-snippet": denied}, outcome: "closed",
		},
		{
			name: "access of the server", annotations: one("server-snippet", "if ($a) { return 403; }"),
			verdicts: verdicts{"server-snippet": denied}, outcome: "closed",
			got: func(options *annotation.Options) any { return options.Snippets.Denied },
			want: annotation.Prefix + "server-snippet: the snippet has the directive \"return\", and directives of nginx are not " +
				"executed",
		},
		{
			name: "no syntax of nginx", annotations: one("configuration-snippet", "add_header a b"),
			verdicts: verdicts{"configuration-snippet": denied}, outcome: "closed",
		},
		{
			name: "empty", annotations: one("server-snippet", "\n "), verdicts: verdicts{"server-snippet": unused},
			got: snippets, want: annotation.Snippets{},
		},
	})
}

// TestServerSnippetAboveTheRisk demands that a snippet closes the locations of its Ingress, and not those of the
// others of the host: ingress-nginx does not accept the Ingress, and serves them. Without the ConfigMap it may accept
// it, so that the host is closed.
func TestServerSnippetAboveTheRisk(t *testing.T) {
	for name, text := range map[string]string{
		"access": "deny all;", "no syntax": "add_header a b", "long": strings.Repeat("#", annotation.MostValue+1),
	} {
		for _, given := range []bool{false, true} {
			settings := annotation.DefaultSettings()
			settings.Given = given
			options, findings := readWith(t, settings, one("server-snippet", text))
			found := findings["server-snippet"]
			if options.Closed == "" || (options.Snippets.Denied == "") != given ||
				found.Verdict != annotation.Denied || !found.AboveRisk {
				t.Errorf("%s, ConfigMap %v: %+v, %+v", name, given, options.Snippets, findings)
			}
		}
	}
}

// TestRewritesOfSnippets demands that a plain rewrite is read, and that the verdict says so.
func TestRewritesOfSnippets(t *testing.T) {
	const plain = "rewrite ^/old/(.*)$ /new/$1 break;"
	for _, row := range []struct {
		text     string
		risk     annotation.Risk
		verdict  annotation.Verdict
		reason   string
		rewrites bool
	}{
		{plain, annotation.Critical, annotation.Different, "its rewrite is done as by rewrite-target", true},
		{plain, annotation.High, annotation.Different, "the annotation has its effect all the same", true},
		{plain + "\nadd_header a b;", annotation.Critical, annotation.Unsupported, "all else has no effect", true},
		{plain + "\ndeny all;", annotation.Critical, annotation.Denied, "deny", false},
		{"rewrite ^/a /b permanent;", annotation.Critical, annotation.Different, "302 in place of 301", true},
		{"rewrite ^/a /b;", annotation.Critical, annotation.Unsupported, "directives of nginx are not executed", false},
		{"if ($host = a) { rewrite ^/a /b break; }", annotation.Critical, annotation.Denied, "rewrite", false},
	} {
		settings := annotation.DefaultSettings()
		settings.Risk = row.risk
		options, findings := readWith(t, settings, one("configuration-snippet", row.text))
		found := findings["configuration-snippet"]
		if found.Verdict != row.verdict || !strings.Contains(found.Reason, row.reason) ||
			(options.Snippets.Rewrite != nil) != row.rewrites {
			t.Errorf("%s: %+v, %+v", row.text, options.Snippets.Rewrite, found)
		}
	}
}
