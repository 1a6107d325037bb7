package resource

import (
	"fmt"
	"strings"
)

// String returns the clusters with their shares in percent, and the mirrors.
func (r *Routing) String() string {
	if r.Environment != nil {
		return r.Environment.String()
	}
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

// String returns the header, the subsets with their clusters, and what answers other requests.
func (e *EnvironmentRouting) String() string {
	parts := make([]string, 0, len(e.Subsets)+1)
	for i, one := range e.Subsets {
		parts = append(parts, e.Options.Subsets[i].Tag+" to "+one.String())
	}
	otherwise := "an error"
	if e.standard != nil {
		otherwise = e.standard.String()
	}
	return "by the header " + e.Options.Header + ": " + strings.Join(append(parts, "otherwise to "+otherwise), "; ")
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
