package dynamic

// RegexRewrite replaces path and query when the path matches, or redirects, as the directive rewrite of nginx. Ours.
type RegexRewrite struct {
	// Regex is a pattern of PCRE without what takes more than linear time. It is looked for, anywhere, in the decoded path
	// that NormalizedPath compares. Required.
	Regex string `json:"regex,omitempty"`
	// Replacement is the new decoded path, and behind a question mark the new query, to which that of the request is
	// added. A question mark at its end drops the query of the request. It may have variables of nginx ($host, $args,
	// ...) and the groups of the pattern ($1 to $9 and those with names). A URL with http:// or https://, or one that
	// begins with $scheme, redirects with 302. Required.
	Replacement string `json:"replacement,omitempty"`
	// Last replaces the new path again as long as the pattern is found in it, as the flag last does in a location that is
	// chosen anew. Where it is found in the result of ten times, the answer is 500. A redirect ends that. Default: once.
	Last bool `json:"last,omitempty"`
}
