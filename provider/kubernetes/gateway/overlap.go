package gateway

import "strings"

// overlaps finds listeners of one port at which TLS ends and whose hostnames overlap.
type overlaps struct {
	all []*listener
	// below are the listeners of *. by the name behind it; rest is the one without a hostname.
	below map[string]*listener
	rest  *listener
}

// markOverlaps notes in the listeners of a Gateway and its ListenerSets which of them overlap with others. Those with
// the same hostname are in conflict, and are refused before.
func markOverlaps(owners map[owner]*ownerPlan) {
	ports := map[int32]*overlaps{}
	for _, one := range owners {
		for _, l := range one.listeners {
			if l.refusal != nil || !terminates(l) {
				continue
			}
			port := ports[l.spec.Port]
			if port == nil {
				port = &overlaps{below: map[string]*listener{}}
				ports[l.spec.Port] = port
			}
			port.add(l)
		}
	}
	for _, port := range ports {
		port.mark()
	}
}

func (o *overlaps) add(l *listener) {
	o.all = append(o.all, l)
	if l.hostname == "" {
		o.rest = l
	} else if parent, wildcard := strings.CutPrefix(l.hostname, "*."); wildcard {
		o.below[parent] = l
	}
}

func (o *overlaps) mark() {
	for _, l := range o.all {
		if o.rest != nil && o.rest != l {
			l.overlaps, o.rest.overlaps = true, true
		}
		for name := strings.TrimPrefix(l.hostname, "*."); ; {
			_, parent, more := strings.Cut(name, ".")
			if !more {
				break
			}
			if other := o.below[parent]; other != nil {
				l.overlaps, other.overlaps = true, true
			}
			name = parent
		}
	}
}
