package live

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
)

// Generation is the JSON of one activated table and its changes.
type Generation struct {
	// Generation is the number, from 1.
	Generation uint64 `json:"generation"`
	// Activated is the time of activation.
	Activated time.Time `json:"activated"`
	// CompileSeconds is the duration of the compilation.
	CompileSeconds float64 `json:"compileSeconds"`
	// LagSeconds is, by provider, the time from receipt of a configuration to its activation.
	LagSeconds map[string]float64 `json:"lagSeconds"`
	// Added, Changed and Removed count objects.
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
	// Changes lists these objects, at most 200 of them; More counts the rest.
	Changes []Change `json:"changes"`
	More    int      `json:"more"`
	// Refused lists the negative verdicts that are new with this generation, at most 200.
	Refused []api.Finding `json:"refused"`
	// Recovered lists the objects whose negative verdict is gone, or which are removed; at most 200.
	Recovered []Object `json:"recovered"`
	// MoreVerdicts counts what Refused and Recovered leave out.
	MoreVerdicts int `json:"moreVerdicts"`
}

// Change is the change of one object.
type Change struct {
	// Kind, Name (qualified) and Provider identify the object. Provider is empty for an object of several providers.
	Kind     dynamic.Kind `json:"kind"`
	Name     string       `json:"name"`
	Provider string       `json:"provider"`
	// Change is added, changed or removed.
	Change pipeline.ChangeKind `json:"change"`
	// Origin is where the object is or was declared.
	Origin string `json:"origin"`
	// Diff lists the differences; only in /api/generations/{number}.
	Diff []Difference `json:"diff,omitempty"`
	// MoreDiff counts the differences that Diff leaves out.
	MoreDiff int `json:"moreDiff,omitempty"`
}

// Object names an object, as JSON.
type Object struct {
	Kind dynamic.Kind `json:"kind"`
	// Name is the qualified name.
	Name string `json:"name"`
}

func newGeneration(from *pipeline.Generation) Generation {
	to := Generation{
		Generation:     from.Number,
		Activated:      from.Activated.UTC(),
		CompileSeconds: from.Compile.Seconds(),
		LagSeconds:     make(map[string]float64, len(from.Lags)),
		Added:          from.Added,
		Changed:        from.Changed,
		Removed:        from.Removed,
		Changes:        make([]Change, 0, len(from.Changes)),
		More:           from.More,
		Refused:        findings(from.Worse),
		Recovered:      objects(from.Recovered),
		MoreVerdicts:   from.MoreVerdicts,
	}
	for provider, lag := range from.Lags {
		to.LagSeconds[provider] = lag.Seconds()
	}
	for i := range from.Changes {
		change := &from.Changes[i]
		to.Changes = append(to.Changes, Change{
			Kind:     change.Ref.Kind,
			Name:     change.Ref.Name,
			Provider: providerOf(change.Ref.Name),
			Change:   change.Kind,
			Origin:   change.Origin.String(),
		})
	}
	return to
}

// providerOf returns the part of a qualified name after its @.
func providerOf(name string) string {
	if at := strings.LastIndexByte(name, '@'); at >= 0 {
		return name[at+1:]
	}
	return ""
}

func findings(verdicts []dynamic.Verdict) []api.Finding {
	list := make([]api.Finding, 0, len(verdicts))
	for _, verdict := range verdicts {
		list = append(list, api.NewFinding(verdict))
	}
	return list
}

func objects(verdicts []dynamic.Verdict) []Object {
	list := make([]Object, 0, len(verdicts))
	for _, verdict := range verdicts {
		list = append(list, Object{Kind: verdict.Ref.Kind, Name: verdict.Ref.Name})
	}
	return list
}

// generations returns all generations, newest first.
func (l *Live) generations(w http.ResponseWriter, _ *http.Request) {
	known := l.options.State.State().Generations
	list := make([]Generation, 0, len(known))
	for i := range slices.Backward(known) {
		list = append(list, newGeneration(&known[i]))
	}
	l.write(w, http.StatusOK, list)
}

// generation returns one generation with the differences of its objects.
func (l *Live) generation(w http.ResponseWriter, r *http.Request) {
	text := mux.Vars(r)["number"]
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		l.refuse(w, http.StatusBadRequest, "the number of a generation is a number from 1")
		return
	}
	known := l.options.State.State().Generations
	at := slices.IndexFunc(known, func(g pipeline.Generation) bool { return g.Number == number })
	if at < 0 {
		l.refuse(w, http.StatusNotFound, "generation "+strconv.FormatUint(number, 10)+" is not among the last "+
			strconv.Itoa(len(known)))
		return
	}
	answer := newGeneration(&known[at])
	for i := range answer.Changes {
		change := &known[at].Changes[i]
		answer.Changes[i].Diff, answer.Changes[i].MoreDiff = differences(change.Before, change.After)
	}
	l.write(w, http.StatusOK, answer)
}
