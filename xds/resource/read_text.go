package resource

import (
	"fmt"
	"strings"
)

// String returns the clusters with their shares in percent, and the mirrors.
func (r *Routing) String() string {
	sum := 0
	for _, one := range r.Splits {
		sum += one.Weight
	}
	var parts []string
	for _, one := range r.Splits {
		part := one.Cluster
		if len(r.Splits) > 1 {
			part += fmt.Sprintf(" %.4g%%", 100*float64(one.Weight)/float64(sum))
		}
		parts = append(parts, part)
	}
	for _, one := range r.Mirrors {
		parts = append(parts, fmt.Sprintf("mirrored to %s %d%%", one.Name, one.Percent))
	}
	return strings.Join(parts, ", ")
}

// Lines returns the endpoints in order, each with its address, zone and share, and whether it is draining.
func (e *Endpoints) Lines() []string {
	lines := make([]string, 0, len(e.members))
	for i := range e.members {
		one := &e.members[i]
		line := one.address.String()
		if one.zone != "" {
			line += " zone " + one.zone
		}
		if one.share.Cmp(unit()) != 0 {
			line += " weight " + one.share.RatString()
		}
		if !one.serves {
			line += " draining"
		}
		lines = append(lines, line)
	}
	return lines
}
