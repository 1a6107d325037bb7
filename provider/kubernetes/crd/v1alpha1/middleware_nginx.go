package v1alpha1

// RegexRewrite replaces path and query when the path matches, or redirects, as the directive rewrite of nginx.
type RegexRewrite struct {
	// Regex is a pattern of PCRE that is looked for in the decoded path.
	// +optional
	Regex string `json:"regex,omitempty"`
	// Replacement is the new path and query, or a URL, with variables of nginx and the groups of the pattern.
	// +optional
	Replacement string `json:"replacement,omitempty"`
	// Last replaces the new path again as long as the pattern is found in it; above ten times the answer is 500.
	// +optional
	Last bool `json:"last,omitempty"`
}
