package satisfyany

import "github.com/sluiceproxy/sluice/middleware/guard"

// accessOf returns when members restrict access: at the trust levels at which each of those does that may let a request
// in. Of several servers that decide, one that is an entrypoint of this process is enough to let everything in; since
// an Access has one, several are taken for a gap.
func accessOf(name string, members []Member) guard.Access {
	all := guard.Access{}
	first := true
	for _, member := range members {
		if !member.Admits {
			continue
		}
		one := accessOfSteps(member.Steps)
		if first {
			all, first = one, false
			continue
		}
		all.Guards &= one.Guards
		all.Gaps = append(all.Gaps, one.Gaps...)
		switch {
		case all.Server == "":
			all.Server = one.Server
		case one.Server != "" && one.Server != all.Server:
			all.Guards = 0
			all.Gaps = append(all.Gaps, guard.Gap{On: guard.Always, Why: "satisfyAny " + name + " has several servers decide"})
		}
	}
	return all
}

// guarding is a step that can restrict access.
type guarding interface {
	// Guards returns when it does.
	Guards() guard.Access
}

// accessOfSteps returns when a chain restricts access: where one of its steps does.
func accessOfSteps(steps []Step) guard.Access {
	all := guard.Access{}
	for _, step := range steps {
		restricting, ok := step.(guarding)
		if !ok {
			continue
		}
		one := restricting.Guards()
		all.Guards |= one.Guards
		all.Gaps = append(all.Gaps, one.Gaps...)
		if one.Server != "" {
			all.Server = one.Server
		}
	}
	return all
}
