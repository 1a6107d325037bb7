package annotation_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

func TestSnippets(t *testing.T) {
	snippets := func(options *annotation.Options) any { return options.Snippets }
	run(t, []reads{
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
				Configuration: "add_header a b;", Server: "gzip on;", Stream: "server { deny all; }",
			},
		},
		{
			name: "access", annotations: one("configuration-snippet", "deny all;"),
			verdicts: verdicts{"configuration-snippet": denied}, outcome: "closed",
		},
		{
			name: "access of the server", annotations: one("server-snippet", "if ($a) { return 403; }"),
			verdicts: verdicts{"server-snippet": denied}, outcome: "closed",
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
