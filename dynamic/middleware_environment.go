package dynamic

// The values of EnvironmentMiddleware.Untrusted.
const (
	// UntrustedRemove ignores the choice of a client that may not choose.
	UntrustedRemove = "remove"
	// UntrustedForbid answers it with 403.
	UntrustedForbid = "forbid"
)

// The values of EnvironmentMiddleware.Stamp.
const (
	// StampNever leaves requests without a tag as they are.
	StampNever = "never"
	// StampDefault sets the tag Default on them.
	StampDefault = "default"
)

// EnvironmentMiddleware sets the request header with the tag of the environment, which services of the kind environment
// select by, and decides which clients may choose it. Ours. Without Trust no client may.
type EnvironmentMiddleware struct {
	// Header is the name of the request header with the tag, as in the service.
	Header string `json:"header,omitempty"`
	// Sources are places beside Header that a tag can come from.
	Sources *EnvironmentSources `json:"sources,omitempty"`
	// Trust says which clients may choose.
	Trust *EnvironmentTrust `json:"trust,omitempty"`
	// Untrusted is what becomes of the choice of other clients: remove, it is ignored, or forbid, it is answered with
	// 403.
	Untrusted string `json:"untrusted,omitempty"`
	// Aliases are names of further headers that services read a tag from. They are removed from requests of clients that
	// Trust does not name, whatever they hold.
	Aliases []string `json:"aliases,omitempty"`
	// Default is the tag that Stamp sets.
	Default string `json:"default,omitempty"`
	// Stamp says whether requests without a tag get one: default, they get Default, or never.
	Stamp string `json:"stamp,omitempty"`
}

// EnvironmentSources are places of a request that a tag can come from. The first one with a tag counts: the header,
// Query, Path, Host, Cookie.
type EnvironmentSources struct {
	// Query is the name of a query parameter. It is removed from the forwarded request.
	Query string `json:"query,omitempty"`
	// Path is a pattern for the beginning of the path, whose last segment is {tag}, such as /env/{tag}. What it matches
	// is removed from the path, and appended to X-Forwarded-Prefix.
	Path string `json:"path,omitempty"`
	// Host is a pattern for the host with {tag} once, within one label, such as {tag}--shop.example.com. The host is
	// passed on unchanged.
	Host string `json:"host,omitempty"`
	// HostSplitter is the text that stands for each "." in the tag of a host, such as "-". Empty means that a host has
	// only tags without a ".".
	HostSplitter string `json:"hostSplitter,omitempty"`
	// Cookie is the name of a cookie. It is removed from requests of clients that Trust does not name.
	Cookie string `json:"cookie,omitempty"`
}

// EnvironmentTrust says which clients may choose: those that any of its options names.
type EnvironmentTrust struct {
	// Anyone trusts all clients; no other option is set then.
	Anyone bool `json:"anyone,omitempty"`
	// SourceRange are addresses and CIDR prefixes of clients that may choose.
	SourceRange []string `json:"sourceRange,omitempty"`
	// IPStrategy says which address is the client's, for SourceRange, as in ipAllowList.
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty" label:"allowEmpty"`
	// Authenticated trusts requests that a basicAuth, digestAuth, jwt, forwardAuth, externalAuth or authRequest before
	// this middleware has admitted, and those of connections with a verified client certificate.
	Authenticated bool `json:"authenticated,omitempty"`
	// Signed lets everyone choose by a tag that is signed.
	Signed *EnvironmentSigning `json:"signed,omitempty"`
}

// EnvironmentSigning is the key of signed tags. Exactly one of Key and KeyFile is set.
type EnvironmentSigning struct {
	// Key is the key itself, of at least 32 bytes, without a line break at its end.
	Key string `json:"key,omitempty" secret:"true"`
	// KeyFile is a file with the key.
	KeyFile string `json:"keyFile,omitempty" secret:"file"`
}

// SetDefaults sets the header X-Virtual-Env, untrusted remove and stamp never.
func (e *EnvironmentMiddleware) SetDefaults() {
	e.Header, e.Untrusted, e.Stamp = DefaultEnvironmentHeader, UntrustedRemove, StampNever
}
