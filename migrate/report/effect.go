package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// Effect is what Ingresses lose or have otherwise by an annotation, for one reason.
type Effect struct {
	Annotation string `json:"annotation"`
	Verdict    string `json:"verdict"`
	Reason     string `json:"reason"`
	// Closes says that the locations answer 503 for it.
	Closes    bool     `json:"closes,omitempty"`
	Ingresses []string `json:"ingresses"`
}

// effects collects the reasons of all Ingresses: those that close locations first, then the most frequent.
func (r *Report) effects() []Effect {
	at := map[Annotation]int{}
	var all []Effect
	for i := range r.Ingresses {
		for _, one := range r.Ingresses[i].Annotations {
			if one.Reason == "" {
				continue
			}
			if _, known := at[one]; !known {
				at[one] = len(all)
				all = append(all, Effect{Annotation: one.Name, Verdict: one.Verdict, Reason: one.Reason, Closes: one.Closes})
			}
			all[at[one]].Ingresses = append(all[at[one]].Ingresses, r.Ingresses[i].Name)
		}
	}
	for i := range all {
		slices.Sort(all[i].Ingresses)
	}
	slices.SortFunc(all, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(len(b.Ingresses), len(a.Ingresses)),
			cmp.Compare(a.Annotation, b.Annotation), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// rank orders effects, the worst first.
func (e *Effect) rank() int {
	switch {
	case e.Verdict == annotation.Rejected.String():
		return 0
	case e.Closes:
		return 1
	case e.Verdict == annotation.Unsupported.String():
		return 2
	case e.Verdict == annotation.Different.String():
		return 3
	}
	return 4
}

// mostEffects is how many reasons of one annotation and verdict are shown.
const mostEffects = 5

// Shown returns the effects for display, and how many are left out: values in reasons make many of one kind.
func (r *Report) Shown() (all []Effect, more int) {
	count := map[string]int{}
	for _, one := range r.Effects {
		key := one.Annotation + " " + one.Outcome()
		if count[key]++; count[key] > mostEffects {
			more++
			continue
		}
		all = append(all, one)
	}
	return all, more
}

// Outcome returns the verdict, for display.
func (e *Effect) Outcome() string {
	if e.Closes {
		return e.Verdict + ", 503"
	}
	return e.Verdict
}

// Alike are Ingresses with the same verdict, annotations and causes.
type Alike struct {
	Verdict Verdict
	Denied  string
	// Rejected is why ingress-nginx does not accept them.
	Rejected string
	// Notes are the annotations with an outcome of their own, Causes the numbers of causes.
	Notes     []string
	Causes    []int
	Ingresses []*Ingress
}

// Alike returns the Ingresses in groups, for display: the worst verdicts first.
func (r *Report) Alike() []Alike {
	at := map[string]int{}
	var all []Alike
	for i := range r.Ingresses {
		one := &r.Ingresses[i]
		group := Alike{
			Verdict: one.Verdict, Denied: one.Denied, Rejected: one.Rejected, Notes: one.notes(), Causes: one.Causes,
		}
		key := fmt.Sprint(group.Verdict, "\n", group.Denied, "\n", group.Rejected, "\n", group.Notes, "\n", group.Causes)
		if _, known := at[key]; !known {
			at[key] = len(all)
			all = append(all, group)
		}
		all[at[key]].Ingresses = append(all[at[key]].Ingresses, one)
	}
	return all
}

// notes returns the annotations that have not the same effect, with their verdicts.
func (i *Ingress) notes() []string {
	var out []string
	for _, one := range i.Annotations {
		if one.Reason != "" {
			out = append(out, one.Name+" ("+one.Verdict+")")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Same reports whether nothing changes for the Ingresses.
func (a *Alike) Same() bool {
	return a.Verdict == Same && a.Denied == "" && a.Rejected == "" && len(a.Notes) == 0 && len(a.Causes) == 0
}

// Numbers returns the numbers of causes, for display.
func (a *Alike) Numbers() string { return numbers(a.Causes) }

// numbers returns numbers with commas.
func numbers(all []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
}

// LikeInteractions are interactions with the same effect.
type LikeInteractions struct {
	Effect string
	All    []nginxmodel.Interaction
}

// LikeInteractions returns the interactions in groups, for display.
func (r *Report) LikeInteractions() []LikeInteractions {
	at := map[string]int{}
	var all []LikeInteractions
	for _, one := range r.Interactions {
		if _, known := at[one.Effect]; !known {
			at[one.Effect] = len(all)
			all = append(all, LikeInteractions{Effect: one.Effect})
		}
		all[at[one.Effect]].All = append(all[at[one.Effect]].All, one)
	}
	return all
}

// LikeProblems are problems with the same reason.
type LikeProblems struct {
	Reason string
	// Ingresses have their hosts behind them, if the problem is one of a host.
	Ingresses []string
}

// LikeProblems returns the problems in groups, for display.
func (r *Report) LikeProblems() []LikeProblems {
	at := map[string]int{}
	var all []LikeProblems
	for _, one := range r.Problems {
		if _, known := at[one.Reason]; !known {
			at[one.Reason] = len(all)
			all = append(all, LikeProblems{Reason: one.Reason})
		}
		of := &all[at[one.Reason]]
		of.Ingresses = append(of.Ingresses, shown(one.Ingress)+on(one.Host))
	}
	return all
}
