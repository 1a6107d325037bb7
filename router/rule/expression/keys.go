package expression

import "slices"

// KeyType is what [Keys] has to know of a type of keys, the zero value of which is no condition at all.
type KeyType[V any, K comparable] struct {
	// Of returns the key that holds for every value that a matcher accepts, or false when there is none.
	Of func(Matcher[V]) (K, bool)
	// Both returns the key that holds where two keys hold, or false when they exclude each other.
	Both func(a, b K) (K, bool)
	// Rank is lower for keys that propose less.
	Rank func(K) int
}

// maxProduct bounds the keys that multiplying the alternatives of two operands of && may give. Beyond it the less
// selective operand is left out, which proposes more and loses nothing.
const maxProduct = 64

// Keys returns conditions of which every value that a rule accepts satisfies at least one; a value that satisfies one
// need not be accepted. No keys mean that the rule accepts nothing. The zero key means that the rule can be found only
// by evaluating it, and is then the only one. Negated matchers give no condition.
func Keys[V any, K comparable](root Node[V], of KeyType[V, K]) []K {
	keys := of.expand(root, false)
	var none K
	if slices.Contains(keys, none) {
		return []K{none}
	}
	return keys
}

// expand returns the keys of a node, or of its negation, by De Morgan's laws.
func (t KeyType[V, K]) expand(n Node[V], negated bool) []K {
	switch n := n.(type) {
	case *Not[V]:
		return t.expand(n.Operand, !negated)
	case *And[V]:
		if negated {
			return t.expandUnion(n.Operands, negated)
		}
		return t.expandProduct(n.Operands, negated)
	case *Or[V]:
		if negated {
			return t.expandProduct(n.Operands, negated)
		}
		return t.expandUnion(n.Operands, negated)
	case Matcher[V]:
		if key, has := t.Of(n); has && !negated {
			return []K{key}
		}
	}
	return make([]K, 1)
}

func (t KeyType[V, K]) expandUnion(operands []Node[V], negated bool) []K {
	var keys []K
	for _, operand := range operands {
		keys = append(keys, t.expand(operand, negated)...)
	}
	return distinct(keys)
}

func (t KeyType[V, K]) expandProduct(operands []Node[V], negated bool) []K {
	sets := make([][]K, len(operands))
	for i, operand := range operands {
		sets[i] = t.expand(operand, negated)
	}
	// Small sets first: then no large set is copied more than once, whatever the number of operands.
	slices.SortStableFunc(sets, func(a, b []K) int { return len(a) - len(b) })
	keys := make([]K, 1)
	for _, set := range sets {
		keys = t.product(keys, set)
	}
	return keys
}

// product returns the keys of a conjunction.
func (t KeyType[V, K]) product(a, b []K) []K {
	if len(a)*len(b) > max(maxProduct, len(a), len(b)) {
		return t.selective(a, b)
	}
	keys := make([]K, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if key, possible := t.Both(x, y); possible {
				keys = append(keys, key)
			}
		}
	}
	return distinct(keys)
}

// selective returns the set of keys that proposes less: by rank, else the smaller one.
func (t KeyType[V, K]) selective(a, b []K) []K {
	rankA, rankB := t.rank(a), t.rank(b)
	if rankB < rankA || rankB == rankA && len(b) < len(a) {
		return b
	}
	return a
}

// rank is that of the key that proposes most.
func (t KeyType[V, K]) rank(keys []K) int {
	worst := 0
	for _, key := range keys {
		worst = max(worst, t.Rank(key))
	}
	return worst
}

// distinct drops repetitions and keeps the order.
func distinct[K comparable](keys []K) []K {
	if len(keys) < 2 {
		return keys
	}
	seen := make(map[K]struct{}, len(keys))
	kept := keys[:0]
	for _, key := range keys {
		if _, again := seen[key]; !again {
			seen[key] = struct{}{}
			kept = append(kept, key)
		}
	}
	return kept
}
