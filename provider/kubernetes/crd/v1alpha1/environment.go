package v1alpha1

// Environment sends each request to the subset of its environment, by a tag in a header.
type Environment struct {
	// Header is the name of the request header with the tag; default X-Virtual-Env.
	// +optional
	Header string `json:"header,omitempty"`
	// Aliases are further headers that can hold the tag, in order of precedence.
	// +optional
	Aliases []EnvironmentAlias `json:"aliases,omitempty"`
	// Splitter is the character between the levels of a tag; default ".".
	// +kubebuilder:validation:MaxLength=1
	// +optional
	Splitter string `json:"splitter,omitempty"`
	// Default is the tag whose subset answers requests without a tag, and those whose tag has no subset.
	// +optional
	Default string `json:"default,omitempty"`
	// Fallback is what answers requests whose tag has no subset; default "default".
	// +kubebuilder:validation:Enum=default;any;reject
	// +optional
	Fallback string `json:"fallback,omitempty"`
	// Exists says which subsets count: all of them (pods, the default), or those with an endpoint that may answer (ready).
	// +kubebuilder:validation:Enum=pods;ready
	// +optional
	Exists string `json:"exists,omitempty"`
	// Strict sends requests with a tag that no subset has, and that Tags does not list, to the subset of Default.
	// +optional
	Strict bool `json:"strict,omitempty"`
	// Tags are further tags that exist, in other services. They matter only with Strict.
	// +optional
	Tags []string `json:"tags,omitempty"`
	// Service has the endpoints of all environments; it is used with the fallback any.
	// +optional
	Service *Service `json:"service,omitempty"`
	// Subsets are the environments.
	// +optional
	Subsets []EnvironmentSubset `json:"subsets,omitempty"`
}

// EnvironmentAlias is a further header that can hold the tag.
type EnvironmentAlias struct {
	// Name is the name of the header.
	Name string `json:"name"`
	// Pattern is a regular expression for the whole value, in which Placeholder stands for the tag.
	// +optional
	Pattern string `json:"pattern,omitempty"`
	// Placeholder is the text that stands for the tag in Pattern; default (@).
	// +optional
	Placeholder string `json:"placeholder,omitempty"`
}

// EnvironmentSubset is one environment of a service.
type EnvironmentSubset struct {
	// Tag is the tag of the environment.
	Tag string `json:"tag"`
	// Service answers.
	Service Service `json:"service"`
}
