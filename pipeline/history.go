package pipeline

import (
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// MaxGenerations is how many generations a State keeps.
	MaxGenerations = 50
	// MaxChanges is how many changes, and how many verdicts, a Generation lists at most.
	MaxChanges = 200
)

// Generation says what one activated table changed. It is immutable, and so is everything that it refers to.
type Generation struct {
	// Number counts activated tables, from 1.
	Number uint64
	// Activated is when the table was activated.
	Activated time.Time
	// Compile is how long its compilation took.
	Compile time.Duration
	// Changes lists objects that were added, changed or removed, in order of kind and name; at most MaxChanges.
	Changes []Change
	// More counts the changes that Changes leaves out.
	More int
	// Added, Changed and Removed count the changes of each kind, also those that Changes leaves out.
	Added, Changed, Removed int
	// Worse holds the verdicts that became known with the table, or while it served, of objects that stood better before;
	// at most MaxChanges.
	Worse []dynamic.Verdict
	// Recovered holds an accepting verdict for each object that had another one before, or is gone; at most MaxChanges.
	Recovered []dynamic.Verdict
	// MoreVerdicts counts what Worse and Recovered leave out.
	MoreVerdicts int
	// Lags holds, by the name of each provider whose configuration came into force with the table, how long it took from
	// when that was received; never changed.
	Lags map[string]time.Duration
}

// ChangeKind says what became of an object.
type ChangeKind string

// The kinds of changes.
const (
	// ObjectAdded means that there was no such object.
	ObjectAdded ChangeKind = "added"
	// ObjectChanged means that there was another one of that name, or that a file that it is made of has changed.
	ObjectChanged ChangeKind = "changed"
	// ObjectRemoved means that there is no such object any more.
	ObjectRemoved ChangeKind = "removed"
)

// Change is what became of one object with a new generation.
type Change struct {
	// Ref names the object.
	Ref dynamic.Ref
	// Kind says what became of it.
	Kind ChangeKind
	// Before and After are pointers to the object as it was and as it is, like *dynamic.Router; nil where there was or is
	// none. They may hold secrets, and must not be changed.
	Before, After any
	// Origin says where the object is declared, or was until it was removed.
	Origin dynamic.Origin
}
