package annotation

import "github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"

// snippets reads the annotations with directives of nginx.
func (r *reading) snippets() {
	out := &r.options.Snippets
	out.Configuration, _ = r.snippet("configuration-snippet")
	out.Server, out.Denied = r.snippet("server-snippet")
	out.Stream, _ = r.text("stream-snippet", anything)
}

// snippet reads one annotation. A snippet that may protect something is denied, for the reason that is returned.
func (r *reading) snippet(name string) (text, denied string) {
	if r.long[name] {
		return "", Prefix + name + " is too long"
	}
	text, _ = r.text(name, anything)
	reason, protects := snippet.Protects(text)
	if !protects {
		return text, ""
	}
	reason += ", and directives of nginx are not executed"
	r.close(name, reason)
	r.findings[name].Protects = true
	return text, cut(Prefix+name+": "+reason, mostReason)
}
