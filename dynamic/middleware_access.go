package dynamic

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

// BasicAuth asks for a user and password (RFC 7617).
type BasicAuth struct {
	Users        []string `json:"users,omitempty"`
	UsersFile    string   `json:"usersFile,omitempty"`
	Realm        string   `json:"realm,omitempty"`
	RemoveHeader bool     `json:"removeHeader,omitempty"`
	HeaderField  string   `json:"headerField,omitempty"`
}

// DigestAuth asks for a user and password by digest (RFC 7616).
type DigestAuth struct {
	Users        []string `json:"users,omitempty"`
	UsersFile    string   `json:"usersFile,omitempty"`
	Realm        string   `json:"realm,omitempty"`
	RemoveHeader bool     `json:"removeHeader,omitempty"`
	HeaderField  string   `json:"headerField,omitempty"`
}

// ForwardAuth asks another server whether a request may pass.
type ForwardAuth struct {
	Address                  string     `json:"address,omitempty"`
	TLS                      *ClientTLS `json:"tls,omitempty"`
	TrustForwardHeader       bool       `json:"trustForwardHeader,omitempty"`
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
	AuthSigninURL            string     `json:"authSigninURL,omitempty"`
}

// SetDefaults allows bodies of any size.
func (f *ForwardAuth) SetDefaults() {
	size := int64(-1)
	f.MaxBodySize = &size
}

// ClientTLS is TLS towards a server that a middleware asks.
type ClientTLS struct {
	CA                 string `json:"ca,omitempty"`
	CAOptional         *bool  `json:"caOptional,omitempty"`
	Cert               string `json:"cert,omitempty"`
	Key                string `json:"key,omitempty"`
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
