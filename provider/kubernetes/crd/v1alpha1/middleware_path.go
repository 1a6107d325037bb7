package v1alpha1

// AddPrefix puts a prefix before the path.
type AddPrefix struct {
	// Prefix begins with /.
	// +optional
	Prefix string `json:"prefix,omitempty"`
}

// StripPrefix removes the first of the prefixes that the path begins with.
type StripPrefix struct {
	// Prefixes are tried in order.
	// +optional
	Prefixes []string `json:"prefixes,omitempty"`
	// ForceSlash is deprecated; a stripped path always begins with /.
	// +optional
	ForceSlash *bool `json:"forceSlash,omitempty"`
}

// StripPrefixRegex removes the prefixes that match.
type StripPrefixRegex struct {
	// Regex lists regular expressions, which are tried in order.
	// +optional
	Regex []string `json:"regex,omitempty"`
}

// ReplacePath replaces the path.
type ReplacePath struct {
	// Path is the new path.
	// +optional
	Path string `json:"path,omitempty"`
}

// ReplacePathRegex replaces the path by a regular expression.
type ReplacePathRegex struct {
	// Regex is what is looked for in the path.
	// +optional
	Regex string `json:"regex,omitempty"`
	// Replacement is the new path, where $1 stands for the first group.
	// +optional
	Replacement string `json:"replacement,omitempty"`
}

// RedirectScheme redirects to another scheme and port.
type RedirectScheme struct {
	// Scheme is the new scheme.
	// +optional
	Scheme string `json:"scheme,omitempty"`
	// Port is the new port.
	// +optional
	Port string `json:"port,omitempty"`
	// Permanent redirects with 301 or 308 instead of 302 or 307.
	// +optional
	Permanent bool `json:"permanent,omitempty"`
	// StatusCode is the status for every method: 301, 302, 307 or 308.
	// +optional
	StatusCode int `json:"statusCode,omitempty"`
	// TrimTrailingSlash removes one slash from the end of the target.
	// +optional
	TrimTrailingSlash bool `json:"trimTrailingSlash,omitempty"`
	// AnyPort redirects by the scheme alone, and writes Port also where it is the default of the scheme.
	// +optional
	AnyPort bool `json:"anyPort,omitempty"`
}

// RedirectRegex redirects by a regular expression over the URL.
type RedirectRegex struct {
	// Regex is what is looked for in the URL.
	// +optional
	Regex string `json:"regex,omitempty"`
	// Replacement is the new URL, where $1 stands for the first group.
	// +optional
	Replacement string `json:"replacement,omitempty"`
	// Permanent redirects with 301 or 308 instead of 302 or 307.
	// +optional
	Permanent bool `json:"permanent,omitempty"`
}
