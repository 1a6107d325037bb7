package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/migrate/report"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"
)

// proposals returns what takes the place of the directives in snippets. Ingresses with the same ones share an entry.
func proposals(model *nginxmodel.Model) []report.Proposal {
	p := proposer{at: map[string]int{}}
	ingresses := model.Ingresses()
	for i := range ingresses {
		one := &ingresses[i]
		snippets := one.Options.Snippets
		p.read(one.Key, "configuration-snippet", snippets.Configuration, rewrites(one.Options))
		p.read(one.Key, "server-snippet", snippets.Server, false)
	}
	for i := range p.out {
		slices.Sort(p.out[i].Ingresses)
	}
	slices.SortStableFunc(p.out, func(a, b report.Proposal) int { return len(b.Ingresses) - len(a.Ingresses) })
	return p.out
}

// rewrites reports whether Sluice does the rewrite of configuration-snippet wherever the Ingress has a path.
func rewrites(options *annotation.Options) bool {
	rewrite := options.Snippets.Rewrite
	return rewrite != nil && !rewrite.Last && (rewrite.Redirects || options.Rewrite.Target == "")
}

// proposer reads snippets.
type proposer struct {
	out []report.Proposal
	at  map[string]int
}

// read adds what takes the place of the directives of one snippet, apart from a rewrite that is done.
func (p *proposer) read(ingress, annotation, text string, rewrites bool) {
	if text == "" {
		return
	}
	namespace, name, _ := strings.Cut(ingress, "/")
	result := snippet.Read(text)
	for i := range result.Proposals {
		one := &result.Proposals[i]
		if rewrites && one.Middleware != nil && one.Middleware.RegexRewrite != nil {
			continue
		}
		notes := slices.Clone(one.Caveats)
		if one.Match != "" {
			notes = slices.Insert(notes, 0, "for a route of its own, with "+one.Match)
		}
		key := fmt.Sprint(annotation, "\n", one.Replaces, "\n", notes, "\n", one.YAML())
		p.add(key, ingress, report.Proposal{
			Annotation: annotation, Directive: one.Replaces, Text: strings.Join(notes, "; "),
			YAML: one.Object(namespace, fmt.Sprintf("%s-%s-%d", name, annotation, i+1)),
		})
	}
	for _, one := range result.Rest {
		p.add(fmt.Sprint(annotation, "\n", one.Directive, "\n", one.Reason), ingress, report.Proposal{
			Annotation: annotation, Directive: one.Directive, Text: "nothing is proposed: " + one.Reason,
		})
	}
}

// add adds an Ingress to the proposal with a key.
func (p *proposer) add(key, ingress string, proposal report.Proposal) {
	if _, known := p.at[key]; !known {
		p.at[key] = len(p.out)
		p.out = append(p.out, proposal)
	}
	of := &p.out[p.at[key]]
	if !slices.Contains(of.Ingresses, ingress) {
		of.Ingresses = append(of.Ingresses, ingress)
	}
}
