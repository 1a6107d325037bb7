package ingressnginx

import "github.com/sluiceproxy/sluice/dynamic"

// rewrite replaces path and query by rewrite-target. The name of the location is looked for anywhere in the path of the
// request.
func (d *locationDraft) rewrite() {
	one := d.location()
	if !one.Rewrite || one.Plain {
		return
	}
	d.use(phaseRewrite, "rewrite", &dynamic.Middleware{RegexRewrite: &dynamic.RegexRewrite{
		Regex: "(?i)" + one.Name, Replacement: d.options.Rewrite.Target,
	}})
}
