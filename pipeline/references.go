package pipeline

import (
	"maps"
	"slices"
	"strings"
)

// resolvedPrefix begins the keys of the endpoint sets that a Resolver publishes.
const resolvedPrefix = "dns/"

// references follows which endpoint sets the tables refer to. It costs what changes: it never holds the keys that the
// active table and the latest one have in common, except for those that a Resolver publishes.
type references struct {
	// added and removed are the keys by which the latest table differs from the active one.
	added, removed map[string]struct{}
	// resolved are the keys of the latest table that a Resolver publishes, stale those that the stale routes of the active
	// table may still use.
	resolved, stale map[string]struct{}
	// changed is true when wanted may return other keys than before.
	changed bool
}

func newReferences() references {
	return references{
		added: map[string]struct{}{}, removed: map[string]struct{}{},
		resolved: map[string]struct{}{}, stale: map[string]struct{}{},
	}
}

// compiled notes by which keys a table differs from the one that was compiled before it.
func (r *references) compiled(added, removed []string) {
	for _, key := range added {
		move(key, r.removed, r.added)
		if strings.HasPrefix(key, resolvedPrefix) {
			r.resolved[key], r.changed = struct{}{}, true
		}
	}
	for _, key := range removed {
		move(key, r.added, r.removed)
		if strings.HasPrefix(key, resolvedPrefix) {
			delete(r.resolved, key)
			r.changed = true
		}
	}
}

// move takes a key back where the contrary was noted, and notes it otherwise.
func move(key string, contrary, noted map[string]struct{}) {
	if _, found := contrary[key]; found {
		delete(contrary, key)
		return
	}
	noted[key] = struct{}{}
}

// activated notes that the latest table is the active one. Its stale routes, if it has any, may use what the tables
// before it referred to.
func (r *references) activated(staleRoutes bool) {
	if !staleRoutes && len(r.stale) > 0 {
		clear(r.stale)
		r.changed = true
	}
	for key := range r.removed {
		if strings.HasPrefix(key, resolvedPrefix) {
			r.changed = true
			if staleRoutes {
				r.stale[key] = struct{}{}
			}
		}
	}
	r.added, r.removed = map[string]struct{}{}, map[string]struct{}{}
}

// missing returns the keys that the latest table refers to, the active one does not, and known denies.
func (r *references) missing(known func(key string) bool) []string {
	var missing []string
	for key := range r.added {
		if !known(key) {
			missing = append(missing, key)
		}
	}
	return missing
}

// wanted returns the keys, in order, that the active table, its stale routes and the latest table need from a Resolver.
func (r *references) wanted() []string {
	keys := maps.Clone(r.resolved)
	maps.Copy(keys, r.stale)
	for key := range r.removed {
		if strings.HasPrefix(key, resolvedPrefix) {
			keys[key] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
