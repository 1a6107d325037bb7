package dynamic

// The values of Environment.Fallback.
const (
	// FallbackDefault sends requests without a subset of their own to the subset of the default tag.
	FallbackDefault = "default"
	// FallbackAny does the same, and sends them to the service of all endpoints if the default tag has no subset.
	FallbackAny = "any"
	// FallbackReject answers requests with a tag that has no subset with 503.
	FallbackReject = "reject"
)

// The values of Environment.Exists.
const (
	// ExistsPods counts every subset that has endpoints, ready or not.
	ExistsPods = "pods"
	// ExistsReady counts only subsets with an endpoint that may answer.
	ExistsReady = "ready"
)

// DefaultEnvironmentHeader is the header with the tag by default.
const DefaultEnvironmentHeader = "X-Virtual-Env"

// DefaultEnvironmentPlaceholder is the text that stands for the tag in the pattern of an alias.
const DefaultEnvironmentPlaceholder = "(@)"

// Environment sends each request to the subset of its environment. The environment is a tag in a header, in levels
// such as dev.proj1.feature1. If that tag has no subset, the nearest ancestor with one answers: dev.proj1, then dev.
type Environment struct {
	// Header is the name of the request header with the tag. It is passed on unchanged.
	Header string `json:"header,omitempty"`
	// Aliases are further headers that can hold the tag, in order of precedence. They are read only in requests without
	// Header, which is then set to the tag.
	Aliases []EnvironmentAlias `json:"aliases,omitempty"`
	// Splitter is the character between the levels of a tag.
	Splitter string `json:"splitter,omitempty"`
	// Default is the tag whose subset answers requests without a tag, and those whose tag has no subset. Empty means
	// that there is none.
	Default string `json:"default,omitempty"`
	// Fallback is what answers requests whose tag has no subset. With default it is the subset of the tag Default. With
	// any it is that subset too, or Service if there is none. With reject such requests get 503.
	Fallback string `json:"fallback,omitempty"`
	// Exists says which subsets count: pods, all of them, or ready, those with an endpoint that may answer. With pods a
	// subset without such an endpoint answers 503; with ready the nearest ancestor answers instead.
	Exists string `json:"exists,omitempty"`
	// Strict sends requests with a tag that no subset has, and that Tags does not list, to the subset of Default
	// instead of that of an ancestor, as KT-env does.
	Strict bool `json:"strict,omitempty"`
	// Tags are further tags that exist, in other services. They matter only with Strict.
	Tags []string `json:"tags,omitempty"`
	// Service is the name of the service with the endpoints of all environments (name or name@provider). The fallback any
	// needs it. It also answers while the endpoint sets of all subsets are deleted.
	Service string `json:"service,omitempty"`
	// Subsets are the environments of this service.
	Subsets []EnvironmentSubset `json:"subsets,omitempty"`

	// EndpointSet is the key of the endpoint set that is divided; empty for a service that is declared as one of
	// environments.
	EndpointSet string `json:"-" label:"-"`
}

// EnvironmentSubset is one environment of a service.
type EnvironmentSubset struct {
	// Tag is the tag of the environment, case-sensitive. Required.
	Tag string `json:"tag,omitempty"`
	// Service is the name of the service that answers (name or name@provider). Required.
	Service string `json:"service,omitempty"`
}

// EnvironmentAlias is a further header that can hold the tag.
type EnvironmentAlias struct {
	// Name is the name of the header. Required.
	Name string `json:"name,omitempty"`
	// Pattern is a regular expression (RE2) for the whole value of the header, in which Placeholder stands for the tag.
	// Without one the whole value is the tag.
	Pattern string `json:"pattern,omitempty"`
	// Placeholder is the text that stands for the tag in Pattern.
	Placeholder string `json:"placeholder,omitempty"`
}

// SetDefaults sets the header X-Virtual-Env, the splitter ".", the fallback default and the existence by pods.
func (e *Environment) SetDefaults() {
	e.Header, e.Splitter, e.Fallback, e.Exists = DefaultEnvironmentHeader, ".", FallbackDefault, ExistsPods
}

// SetDefaults sets the placeholder (@).
func (a *EnvironmentAlias) SetDefaults() { a.Placeholder = DefaultEnvironmentPlaceholder }
