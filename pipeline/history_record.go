package pipeline

import (
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// noteReceived notes when a configuration came that has not been merged. Of several the first one counts.
func (p *Pipeline) noteReceived(provider string, now time.Time) {
	if _, before := p.received[provider]; before {
		return
	}
	if came := p.update.States[provider].LastMessage; !came.IsZero() {
		now = came
	}
	p.received[provider] = now
}

// noteMerged notes that what was received has been merged and waits for its table.
func (p *Pipeline) noteMerged() {
	for provider, came := range p.received {
		if _, before := p.merging[provider]; !before {
			p.merging[provider] = came
		}
	}
	clear(p.received)
}

// generation says what the active table changed in comparison with the one before.
func (p *Pipeline) generation(before *table) Generation {
	made := Generation{
		Number:    p.active.generation,
		Activated: p.active.activated,
		Compile:   p.active.took,
		Lags:      make(map[string]time.Duration, len(p.merging)),
	}
	for provider, came := range p.merging {
		made.Lags[provider] = time.Since(came)
	}
	old, now := newObjects(before.configuration), newObjects(p.active.configuration)
	for _, ref := range p.active.changed {
		change := Change{Ref: ref, Before: old.find(ref), After: now.find(ref)}
		_, rebuilt := p.rebuilt[ref]
		switch {
		case change.Before == nil && change.After == nil:
			continue
		case change.Before == nil:
			change.Kind = ObjectAdded
			made.Added++
		case change.After == nil:
			change.Kind = ObjectRemoved
			made.Removed++
		case change.Before == change.After && !rebuilt && ref.Kind != dynamic.KindCertificate:
			continue // Only the verdict of its provider has changed.
		default: // Of certificates, the order counts too.
			change.Kind = ObjectChanged
			made.Changed++
		}
		if len(made.Changes) == MaxChanges {
			made.More++
			continue
		}
		change.Origin = p.originOf(before, change)
		made.Changes = append(made.Changes, change)
	}
	return made
}

// originOf returns where a changed object is declared, or was.
func (p *Pipeline) originOf(before *table, change Change) dynamic.Origin {
	from := p.active.origins
	if change.Kind == ObjectRemoved {
		from = before.origins
	}
	origin, _ := from.of(change.Ref)
	return origin
}

// judge adds verdicts that became known.
func (g *Generation) judge(worse, recovered []dynamic.Verdict) {
	g.Worse = g.bounded(g.Worse, worse)
	g.Recovered = g.bounded(g.Recovered, recovered)
}

// bounded returns a new list of the known verdicts and the further ones, as far as there is room, and counts the
// others.
func (g *Generation) bounded(known, further []dynamic.Verdict) []dynamic.Verdict {
	fits := min(len(further), MaxChanges-len(known))
	g.MoreVerdicts += len(further) - fits
	return slices.Concat(known, further[:fits])
}

// remember adds a generation to those that readers see.
func (p *Pipeline) remember(generation Generation) {
	kept := p.generations[max(len(p.generations)-MaxGenerations+1, 0):]
	p.generations = append(slices.Clone(kept), generation)
}

// amend adds verdicts to the last generation that became known while it served.
func (p *Pipeline) amend(worse, recovered []dynamic.Verdict) {
	if len(worse)+len(recovered) == 0 || len(p.generations) == 0 {
		return
	}
	p.generations = slices.Clone(p.generations)
	p.generations[len(p.generations)-1].judge(worse, recovered)
}

// objects finds the objects of a merged configuration.
type objects struct {
	configuration *dynamic.Configuration
	certificates  map[string]*dynamic.CertificateEntry // made when the first one is looked for
}

func newObjects(configuration *dynamic.Configuration) *objects {
	return &objects{configuration: configuration}
}

// find returns a pointer to the object; nil when there is none.
func (o *objects) find(ref dynamic.Ref) any {
	c := o.configuration
	if c == nil {
		return nil
	}
	if ref.Kind == dynamic.KindCertificate {
		return o.certificate(ref.Name)
	}
	return c.Object(ref)
}

func (o *objects) certificate(name string) any {
	if o.certificates == nil {
		o.certificates = make(map[string]*dynamic.CertificateEntry, len(o.configuration.TLS.Certificates))
		for _, entry := range slices.Backward(o.configuration.TLS.Certificates) { // Of one name the first counts.
			o.certificates[entry.Name] = entry
		}
	}
	if entry := o.certificates[name]; entry != nil {
		return entry
	}
	return nil
}
