package v1alpha1

// EnvironmentMiddleware sets the request header with the tag of the environment, and decides which clients may choose
// it. Without trust no client may.
type EnvironmentMiddleware struct {
	// Header is the name of the request header with the tag; default X-Virtual-Env.
	// +optional
	Header string `json:"header,omitempty"`
	// Sources are places beside the header that a tag can come from.
	// +optional
	Sources *EnvironmentSources `json:"sources,omitempty"`
	// Trust says which clients may choose.
	// +optional
	Trust *EnvironmentTrust `json:"trust,omitempty"`
	// Untrusted is what becomes of the choice of other clients: remove (it is ignored, the default) or forbid (403).
	// +optional
	// +kubebuilder:validation:Enum=remove;forbid
	Untrusted string `json:"untrusted,omitempty"`
	// Aliases lists further headers that services read a tag from, which are removed from requests of other clients.
	// +optional
	Aliases []string `json:"aliases,omitempty"`
	// Default is the tag that stamp sets.
	// +optional
	Default string `json:"default,omitempty"`
	// Stamp says whether requests without a tag get one: never (the default) or default.
	// +optional
	// +kubebuilder:validation:Enum=never;default
	Stamp string `json:"stamp,omitempty"`
}

// EnvironmentSources are places of a request that a tag can come from, in the order query, path, host, cookie.
type EnvironmentSources struct {
	// Query is the name of a query parameter, which is removed from the forwarded request.
	// +optional
	Query string `json:"query,omitempty"`
	// Path is a prefix of the path that ends with {tag}, such as /env/{tag}, and is removed from the path.
	// +optional
	Path string `json:"path,omitempty"`
	// Host is a pattern for the host with {tag} within one label, such as {tag}--shop.example.com.
	// +optional
	Host string `json:"host,omitempty"`
	// HostSplitter is the text that stands for each dot in the tag of a host.
	// +optional
	HostSplitter string `json:"hostSplitter,omitempty"`
	// Cookie is the name of a cookie.
	// +optional
	Cookie string `json:"cookie,omitempty"`
}

// EnvironmentTrust says which clients may choose: those that any of its options names.
type EnvironmentTrust struct {
	// Anyone trusts all clients.
	// +optional
	Anyone bool `json:"anyone,omitempty"`
	// SourceRange lists the addresses and networks of clients that may choose.
	// +optional
	SourceRange []string `json:"sourceRange,omitempty"`
	// IPStrategy says which address is the client's; by default that of the connection.
	// +optional
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty"`
	// Authenticated trusts requests that a middleware before this one has authenticated, and connections with a verified
	// client certificate.
	// +optional
	Authenticated bool `json:"authenticated,omitempty"`
	// Signed lets everyone choose by a tag that is signed.
	// +optional
	Signed *EnvironmentSigning `json:"signed,omitempty"`
}

// EnvironmentSigning is the key of signed tags.
type EnvironmentSigning struct {
	// Secret names the Secret with the key signingKey, of at least 32 bytes.
	// +optional
	Secret string `json:"secret,omitempty" reference:"Secret"`
}
