package static

// Support says what Sluice does with an option that is configured.
type Support string

// The classes of options. They are the values of the support tag on a field; a field without the tag is Supported
// unless a field above it says otherwise.
const (
	// Supported options do what they say.
	Supported Support = ""
	// Ignored options are known and not supported yet; without them something behaves otherwise, which is a warning.
	Ignored Support = "warn"
	// Inert options are known and have no effect, by design; they are logged on level DEBUG.
	Inert Support = "inert"
	// Refused options are known and not supported yet, and starting without them would do harm:
	// protection or whole sets of routes would be missing. They stop the start.
	Refused Support = "refuse"
)

// String returns the class as the reference shows it.
func (s Support) String() string {
	switch s {
	case Ignored:
		return "not yet (warning)"
	case Inert:
		return "no effect"
	case Refused:
		return "not yet (refused)"
	default:
		return "yes"
	}
}

// severity is that of a finding about a configured option of the class.
func (s Support) severity() Severity {
	switch s {
	case Refused:
		return Error
	case Ignored:
		return Warning
	default:
		return Debug
	}
}

// reason is what a finding about a configured option of the class says; why may be empty.
func (s Support) reason(why string) string {
	var text string
	switch s {
	case Refused:
		text = "is not supported yet, and Sluice does not start without what it asks for"
	case Ignored:
		text = "is not supported yet and is ignored"
	default:
		text = "has no effect in Sluice"
	}
	if why != "" {
		text += ": " + why
	}
	return text
}
