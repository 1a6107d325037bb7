package ingressnginx

import (
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"
)

// rewrite replaces path and query by rewrite-target, or by the rewrite of configuration-snippet. The name of the
// location is looked for anywhere in the path of the request.
func (d *locationDraft) rewrite() {
	one := d.location()
	if found := d.snippetRewrite(); found != nil && !found.Redirects {
		d.use(phaseRewrite, "rewrite", rewriteMiddleware(found))
		return
	}
	if !one.Rewrite || one.Plain {
		return
	}
	d.use(phaseRewrite, "rewrite", &dynamic.Middleware{RegexRewrite: &dynamic.RegexRewrite{
		Regex: "(?i)" + one.Name, Replacement: d.options.Rewrite.Target,
	}})
}

// redirectBySnippet redirects by the rewrite of configuration-snippet, which stands in front of the return of
// permanent-redirect and temporal-redirect.
func (d *locationDraft) redirectBySnippet() {
	if found := d.snippetRewrite(); found != nil && found.Redirects {
		d.use(phaseReturn, "rewrite", rewriteMiddleware(found))
	}
}

func rewriteMiddleware(of *snippet.Rewrite) *dynamic.Middleware {
	return &dynamic.Middleware{RegexRewrite: &dynamic.RegexRewrite{
		Regex: of.Regex, Replacement: of.Replacement, Last: of.Last,
	}}
}

// snippetRewrite returns the rewrite of configuration-snippet; nil for none, and with a verdict for one that cannot be
// done: beside rewrite-target and redirects, which apply where it does not, and where nginx may choose another location
// by the new path.
func (d *locationDraft) snippetRewrite() *snippet.Rewrite {
	found := d.options.Snippets.Rewrite
	if found == nil {
		return nil
	}
	const key = annotation.Prefix + "configuration-snippet: its rewrite has no effect: "
	switch one := d.location(); {
	case one.Plain:
		d.degrade(dynamic.CodeUnsupportedOption, key+"a default backend for all hosts has no rewriting", false)
		return nil
	case d.options.Redirect.URL != "" && !found.Redirects:
		d.degrade(dynamic.CodeUnsupportedOption, key+"permanent-redirect or temporal-redirect is set too", false)
		return nil
	case one.Rewrite && !found.Redirects:
		d.degrade(dynamic.CodeUnsupportedOption, key+"rewrite-target is set too", false)
		return nil
	case found.Last && len(d.server.Locations) > d.count:
		d.degrade(dynamic.CodeUnsupportedOption, key+"nginx may choose another location of "+d.server.Host+
			" by the new path; with the flag break it has its effect", false)
		return nil
	}
	return found
}
