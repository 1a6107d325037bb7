package dynamic

import ptypes "github.com/traefik/paerser/types"

// IPWhiteList is the deprecated name of IPAllowList.
type IPWhiteList struct {
	SourceRange []string    `json:"sourceRange,omitempty"`
	IPStrategy  *IPStrategy `json:"ipStrategy,omitempty" label:"allowEmpty"`
}

// IPAllowList lets only some addresses in.
type IPAllowList struct {
	SourceRange      []string    `json:"sourceRange,omitempty"`
	IPStrategy       *IPStrategy `json:"ipStrategy,omitempty" label:"allowEmpty"`
	RejectStatusCode int         `json:"rejectStatusCode,omitempty"`
}

// BasicAuth demands a user and password (RFC 7617).
type BasicAuth struct {
	Users        []string `json:"users,omitempty" secret:"true"`
	UsersFile    string   `json:"usersFile,omitempty" secret:"file"`
	Realm        string   `json:"realm,omitempty"`
	RemoveHeader bool     `json:"removeHeader,omitempty"`
	HeaderField  string   `json:"headerField,omitempty"`
	// AllHashes also accepts SHA-256 and SHA-512 of crypt ($5$, $6$), salted SHA-1 ({SSHA}) and plain passwords ({PLAIN}),
	// and comments behind a second colon, as nginx does. Ours.
	AllHashes bool `json:"allHashes,omitempty"`
	// ExactRealm has challenges name the realm and nothing else, also an empty one, which is traefik otherwise. Ours.
	ExactRealm bool `json:"exactRealm,omitempty"`
}

// DigestAuth demands a user and password by digest (RFC 7616).
type DigestAuth struct {
	Users        []string `json:"users,omitempty" secret:"true"`
	UsersFile    string   `json:"usersFile,omitempty" secret:"file"`
	Realm        string   `json:"realm,omitempty"`
	RemoveHeader bool     `json:"removeHeader,omitempty"`
	HeaderField  string   `json:"headerField,omitempty"`
	// ExactRealm is for an empty realm, which is traefik otherwise. Ours.
	ExactRealm bool `json:"exactRealm,omitempty"`
}

// ForwardAuth delegates the authorization of requests to another server.
type ForwardAuth struct {
	Address                  string     `json:"address,omitempty" secret:"host"`
	TLS                      *ClientTLS `json:"tls,omitempty"`
	TrustForwardHeader       *bool      `json:"trustForwardHeader,omitempty"`
	AuthResponseHeaders      []string   `json:"authResponseHeaders,omitempty"`
	AuthResponseHeadersRegex string     `json:"authResponseHeadersRegex,omitempty"`
	AuthRequestHeaders       []string   `json:"authRequestHeaders,omitempty"`
	MaxResponseBodySize      *int64     `json:"maxResponseBodySize,omitempty"`
	AddAuthCookiesToResponse []string   `json:"addAuthCookiesToResponse,omitempty"`
	HeaderField              string     `json:"headerField,omitempty"`
	ForwardBody              bool       `json:"forwardBody,omitempty"`
	MaxBodySize              *int64     `json:"maxBodySize,omitempty"`
	PreserveLocationHeader   bool       `json:"preserveLocationHeader,omitempty"`
	PreserveRequestMethod    bool       `json:"preserveRequestMethod,omitempty"`
	AuthSigninURL            string     `json:"authSigninURL,omitempty" secret:"host"`
}

// SetDefaults allows bodies of any size.
func (f *ForwardAuth) SetDefaults() {
	size := int64(-1)
	f.MaxBodySize = &size
}

// ClientTLS is TLS towards a server that a middleware queries.
type ClientTLS struct {
	CA                 string `json:"ca,omitempty" secret:"file"`
	CAOptional         *bool  `json:"caOptional,omitempty"`
	Cert               string `json:"cert,omitempty" secret:"file"`
	Key                string `json:"key,omitempty" secret:"file"`
	InsecureSkipVerify bool   `json:"insecureSkipVerify,omitempty"`
}

// PassTLSClientCert hands the client's certificate to the server in headers.
type PassTLSClientCert struct {
	PEM  bool                     `json:"pem,omitempty"`
	Info *ClientCertificateFields `json:"info,omitempty"`
}

// ClientCertificateFields selects fields of the client's certificate.
type ClientCertificateFields struct {
	NotAfter     bool                      `json:"notAfter,omitempty"`
	NotBefore    bool                      `json:"notBefore,omitempty"`
	SANs         bool                      `json:"sans,omitempty"`
	SerialNumber bool                      `json:"serialNumber,omitempty"`
	Subject      *ClientCertificateSubject `json:"subject,omitempty"`
	Issuer       *ClientCertificateIssuer  `json:"issuer,omitempty"`
}

// ClientCertificateSubject selects fields of the subject.
type ClientCertificateSubject struct {
	Country            bool `json:"country,omitempty"`
	Province           bool `json:"province,omitempty"`
	Locality           bool `json:"locality,omitempty"`
	Organization       bool `json:"organization,omitempty"`
	OrganizationalUnit bool `json:"organizationalUnit,omitempty"`
	CommonName         bool `json:"commonName,omitempty"`
	SerialNumber       bool `json:"serialNumber,omitempty"`
	DomainComponent    bool `json:"domainComponent,omitempty"`
}

// ClientCertificateIssuer selects fields of the issuer.
type ClientCertificateIssuer struct {
	Country         bool `json:"country,omitempty"`
	Province        bool `json:"province,omitempty"`
	Locality        bool `json:"locality,omitempty"`
	Organization    bool `json:"organization,omitempty"`
	CommonName      bool `json:"commonName,omitempty"`
	SerialNumber    bool `json:"serialNumber,omitempty"`
	DomainComponent bool `json:"domainComponent,omitempty"`
}

// JWT lets requests in that carry a signed token (RFC 7519, RFC 6750). Ours. The keys come from exactly one of JwksURL,
// JwksFile, Jwks, PublicKey, PublicKeyFile, SigningSecret and SigningSecretFile.
type JWT struct {
	// JwksURL is where the key set is fetched (RFC 7517); https unless the host is loopback.
	JwksURL string `json:"jwksUrl,omitempty" secret:"host"`
	// TLS is TLS towards JwksURL.
	TLS *ClientTLS `json:"tls,omitempty"`
	// RefreshInterval is how often the key set is fetched, beside when a token names a key that is not in it. Default 1 h.
	RefreshInterval ptypes.Duration `json:"refreshInterval,omitempty"`
	// JwksFile is a file with the key set, and Jwks the key set itself.
	JwksFile string `json:"jwksFile,omitempty" secret:"file"`
	Jwks     string `json:"jwks,omitempty" secret:"true"`
	// PublicKey is a public key or certificate in PEM, and PublicKeyFile a file with it.
	PublicKey     string `json:"publicKey,omitempty" secret:"true"`
	PublicKeyFile string `json:"publicKeyFile,omitempty" secret:"file"`
	// SigningSecret is the secret of HS256, HS384 and HS512, at least 32 bytes, and SigningSecretFile a file with it.
	SigningSecret     string `json:"signingSecret,omitempty" secret:"true"`
	SigningSecretFile string `json:"signingSecretFile,omitempty" secret:"file"`
	// Algorithms are the signature algorithms that are taken; by default those that fit the keys, and HMAC only with
	// SigningSecret.
	Algorithms []string `json:"algorithms,omitempty" secret:"true"`
	// Issuers are the values of iss that are taken; empty takes any.
	Issuers []string `json:"issuers,omitempty" secret:"true"`
	// Audiences are values of which aud must have one; empty takes any.
	Audiences []string `json:"audiences,omitempty" secret:"true"`
	// Claims are further claims that a token must have.
	Claims []JWTClaim `json:"claims,omitempty"`
	// Leeway is how far clocks may be apart. Default 30 s.
	Leeway ptypes.Duration `json:"leeway,omitempty"`
	// TokenHeader is the header with the token, behind "Bearer " if it is Authorization (the default); TokenCookie and
	// TokenQueryKey are where else one is looked for.
	TokenHeader   string `json:"tokenHeader,omitempty"`
	TokenCookie   string `json:"tokenCookie,omitempty"`
	TokenQueryKey string `json:"tokenQueryKey,omitempty"`
	// RemoveToken takes the token out of the request that the service gets.
	RemoveToken bool `json:"removeToken,omitempty"`
	// ForwardHeaders hands claims to the service, by the name of the header.
	ForwardHeaders map[string]string `json:"forwardHeaders,omitempty"`
	// Realm is the realm of WWW-Authenticate. Default "sluice".
	Realm string `json:"realm,omitempty"`
}

// JWTClaim is a claim that a token must have. Where the claim is a list, or words with spaces between them (scope,
// scp), one of them counts.
type JWTClaim struct {
	// Name is the claim's; dots lead into objects (realm_access.roles).
	Name string `json:"name,omitempty"`
	// Values are those of which the claim must have one; empty takes any but null.
	Values []string `json:"values,omitempty" secret:"true"`
}

// SetDefaults sets an hour, 30 s, Authorization and the realm.
func (j *JWT) SetDefaults() {
	j.RefreshInterval = ptypes.Duration(3600e9)
	j.Leeway = ptypes.Duration(30e9)
	j.TokenHeader = "Authorization"
	j.Realm = "sluice"
}
