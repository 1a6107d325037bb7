package annotation

import "github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"

// snippets reads the annotations with directives of nginx.
func (r *reading) snippets() {
	out := &r.options.Snippets
	out.Configuration, _ = r.snippet("configuration-snippet")
	out.Rewrite = r.rewriteSnippet(out.Configuration)
	out.Server, out.Denied = r.snippet("server-snippet")
	if r.settings.Given && r.index.specs["server-snippet"].Risk > r.settings.Risk {
		// ingress-nginx does not accept the Ingress, and serves the other ones of the host without the snippet. Where the
		// level is not known, it may.
		out.Denied = ""
	}
	r.text("stream-snippet", anything)
}

// rewriteSnippet returns the rewrite of a snippet, which is done; nil for none.
func (r *reading) rewriteSnippet(text string) *snippet.Rewrite {
	const name = "configuration-snippet"
	found := r.findings[name]
	if found == nil || found.Verdict != Unsupported {
		return nil // It is not set, or closes the locations.
	}
	rewrite := snippet.RewriteOf(text)
	if rewrite == nil {
		return nil
	}
	reason := "its rewrite is done as by rewrite-target"
	if rewrite.Caveat != "" {
		reason += ": " + rewrite.Caveat
	}
	if rewrite.Whole {
		r.weaken(name, Different, reason)
	} else {
		found.Reason = cut(reason+"; all else has no effect: "+found.Reason, mostReason)
	}
	return rewrite
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
