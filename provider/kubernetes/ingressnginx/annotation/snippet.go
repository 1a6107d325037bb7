package annotation

import "github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"

// snippets reads the annotations with directives of nginx.
func (r *reading) snippets() {
	out := &r.options.Snippets
	out.Configuration = r.snippet("configuration-snippet")
	out.Server = r.snippet("server-snippet")
	out.Stream, _ = r.text("stream-snippet", anything)
}

// snippet reads one annotation. A snippet that may protect something is denied.
func (r *reading) snippet(name string) string {
	text, _ := r.text(name, anything)
	if reason, protects := snippet.Protects(text); protects {
		r.close(name, reason+", and directives of nginx are not executed")
		r.findings[name].Protects = true
	}
	return text
}
