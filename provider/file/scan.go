package file

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// scanRounds is the maximum number of restarts of a scan because of new watches.
const scanRounds = 10

// scan reads everything, updates the watches, and makes the next message. It reports whether the message differs from
// the last one.
func (p *Provider) scan(ctx context.Context, w *watcher) (changed bool) {
	found := p.list()
	// A new directory may have been filled before it was watched.
	for round := 0; round < scanRounds && w.follow(p.targets(found)); round++ {
		found = p.list()
	}
	before := len(p.files)
	p.dropGone(found)
	changed = len(p.files) != before
	p.doubtful = false
	for _, path := range found.files {
		changed = p.update(ctx, path) || changed
	}
	paths := slices.Sorted(maps.Keys(p.files))
	next := p.merge(paths)
	changed = p.stamp(next) || changed
	// A newly named file may have changed before it was watched.
	for round := 0; round < scanRounds && w.follow(p.targets(found)); round++ {
		next = p.merge(paths)
		changed = p.stamp(next) || changed
	}
	findings := p.findings(paths, found.failures)
	if p.last != nil && !changed && slices.Equal(findings, p.lastFindings) {
		return false
	}
	next.Verdicts = append(next.Verdicts, findings...)
	state, reason := p.state(findings)
	p.last = &dynamic.Message{Provider: Name, Configuration: next, State: state, Reason: reason}
	p.lastFindings = findings
	return true
}

// dropGone drops files that no longer exist. Files in unreadable directories are kept, and so is the configured file:
// its absence is an error.
func (p *Provider) dropGone(found listing) {
	for path := range p.files {
		unseen := slices.ContainsFunc(found.failures, func(f failure) bool { return below(path, f.path) })
		if _, exists := slices.BinarySearch(found.files, path); !exists && !unseen {
			delete(p.files, path)
			p.decoder.Forget(path)
		}
	}
}

// findings returns the verdicts on files and directories that could not be read or parsed.
func (p *Provider) findings(paths []string, failures []failure) []dynamic.Verdict {
	var out []dynamic.Verdict
	for _, failed := range failures {
		out = append(out, dynamic.Verdict{
			Ref:    dynamic.Ref{Kind: dynamic.KindSource, Name: failed.path},
			Origin: dynamic.Origin{File: failed.path},
			Status: dynamic.Quarantined,
			Code:   dynamic.CodeUnreadableSource,
			Reason: "cannot be read: " + reason(failed.err),
		})
	}
	for _, path := range paths {
		if finding := p.files[path].finding; finding != nil {
			out = append(out, *finding)
		}
	}
	return out
}

// state returns the state of the provider: it is not synced while there are files and none of them was ever valid.
func (p *Provider) state(findings []dynamic.Verdict) (dynamic.ProviderState, string) {
	if len(findings) == 0 {
		return dynamic.StateSynced, ""
	}
	first := findings[0]
	text := fmt.Sprintf("%s: %s", first.Origin, first.Reason)
	if more := len(findings) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	for _, known := range p.files {
		if known.good != nil {
			return dynamic.StateSynced, text
		}
	}
	return dynamic.StateForbidden, text
}
