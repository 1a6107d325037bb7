package pipeline

import "github.com/sluiceproxy/sluice/dynamic"

// MaxSettle is how long a stream of changes may put off a verdict.
const MaxSettle = maxSettle

// What external tests call.
var (
	SortedRefs     = sortedRefs
	SortedVerdicts = sortedVerdicts
)

// valid accepts every definition.
type valid struct{}

func (valid) Guards(*dynamic.Configuration, dynamic.Ref) []string { return nil }

func (valid) Validate(ref dynamic.Ref, _ any) dynamic.Verdict { return dynamic.Verdict{Ref: ref} }

// NewMerger is newMerger for definitions that are all valid.
func NewMerger(precedence []string) *merger { return newMerger(precedence, valid{}) }

// Merge is merge.
func (m *merger) Merge(
	configurations map[string]*dynamic.Configuration, changed []string,
) (*dynamic.Configuration, map[dynamic.Ref]struct{}) {
	return m.merge(mergeInput{configurations: configurations, providers: changed, verdicts: m.merged.Verdicts})
}

// Origin returns the origin of a merged object.
func (m *merger) Origin(ref dynamic.Ref) (dynamic.Origin, bool) { return m.origins.of(ref) }

// Same reports whether a declared object counts as unchanged.
func Same(ref dynamic.Ref, before, after any) bool { return newDeclaration().same(ref, before, after) }
