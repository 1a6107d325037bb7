package static

import "math"

// HTTP holds the options of HTTP on one entrypoint.
type HTTP struct {
	Redirections              *Redirections     `json:"redirections" description:"Redirection of everything that arrives."`
	Middlewares               []string          `json:"middlewares" description:"Middlewares that are put before those of every router of this entrypoint."`
	TLS                       *TLS              `json:"tls" description:"TLS for routers of this entrypoint that configure none."`
	EncodedCharacters         EncodedCharacters `json:"encodedCharacters" description:"Encoded characters that a path may contain; another one is answered with 400."`
	EncodeQuerySemicolons     bool              `json:"encodeQuerySemicolons" description:"Encode semicolons in the query before it is forwarded."`
	SanitizePath              bool              `json:"sanitizePath" description:"Resolve dot segments and double slashes in the path before routing."`
	AllowParameterSegments    bool              `json:"allowParameterSegments" description:"Accept path segments that consist of parameters alone, as in /;x/admin, which some servers read as /admin; they are answered with 400 by default. Without sanitizePath they are accepted."`
	MaxHeaderBytes            int               `json:"maxHeaderBytes" description:"Largest head of a request, in bytes." range:"0.."`
	MaxHeaderCount            int               `json:"maxHeaderCount" description:"Largest number of header fields in a request; 0 is no limit." range:"0.."`
	UnderscoreHeadersStrategy string            `json:"underscoreHeadersStrategy" description:"What happens to headers with an underscore in their name: keep, delete or reject." enum:"keep,delete,reject"`
}

// DefaultMaxHeaderBytes is the largest head of a request by default, in bytes.
const DefaultMaxHeaderBytes = 1 << 20

// DefaultMaxHeaderCount is the largest number of header fields of a request by default.
const DefaultMaxHeaderCount = 200

// The values of HTTP.UnderscoreHeadersStrategy.
const (
	// UnderscoreKeep forwards headers with an underscore in their name.
	UnderscoreKeep = "keep"
	// UnderscoreDelete removes headers with an underscore in their name.
	UnderscoreDelete = "delete"
	// UnderscoreReject answers 400 to a request with an underscore in the name of a header.
	UnderscoreReject = "reject"
)

// SetDefaults sets the limits, and the path policy of Traefik v3.7.
func (h *HTTP) SetDefaults() {
	h.EncodedCharacters.SetDefaults()
	h.SanitizePath = true
	h.MaxHeaderBytes = DefaultMaxHeaderBytes
	h.MaxHeaderCount = DefaultMaxHeaderCount
	h.UnderscoreHeadersStrategy = UnderscoreKeep
}

// Redirections holds the redirections of an entrypoint.
type Redirections struct {
	EntryPoint *RedirectEntryPoint `json:"entryPoint" description:"Redirection to another entrypoint."`
}

// RedirectEntryPoint redirects every request of an entrypoint to another one.
type RedirectEntryPoint struct {
	To        string `json:"to" description:"Name of the entrypoint, or :port."`
	Scheme    string `json:"scheme" description:"Scheme of the redirection's target." enum:"http,https"`
	Permanent bool   `json:"permanent" description:"Redirect permanently."`
	Priority  int    `json:"priority" description:"Priority of the router that redirects."`
}

// SetDefaults redirects permanently to https, before every router of a user.
func (r *RedirectEntryPoint) SetDefaults() {
	r.Scheme = "https"
	r.Permanent = true
	r.Priority = math.MaxInt - 1
}

// TLS is the TLS configuration that routers of an entrypoint inherit.
type TLS struct {
	Options      string   `json:"options" description:"Name of the TLS options."`
	CertResolver string   `json:"certResolver" description:"Name of the resolver that obtains certificates."`
	Domains      []Domain `json:"domains" description:"Domains for which a resolver obtains certificates."`
}

// Domain is a name with the alternative names that share its certificate.
type Domain struct {
	Main string   `json:"main" description:"First name of the certificate."`
	SANs []string `json:"sans" description:"Further names of the certificate."`
}

// EncodedCharacters says which percent-encoded characters a path may contain.
type EncodedCharacters struct {
	AllowEncodedSlash         bool `json:"allowEncodedSlash" description:"Allow %2F in the path."`
	AllowEncodedBackSlash     bool `json:"allowEncodedBackSlash" description:"Allow %5C in the path."`
	AllowEncodedNullCharacter bool `json:"allowEncodedNullCharacter" description:"Allow %00 in the path."`
	AllowEncodedSemicolon     bool `json:"allowEncodedSemicolon" description:"Allow %3B in the path."`
	AllowEncodedPercent       bool `json:"allowEncodedPercent" description:"Allow %25 in the path."`
	AllowEncodedQuestionMark  bool `json:"allowEncodedQuestionMark" description:"Allow %3F in the path."`
	AllowEncodedHash          bool `json:"allowEncodedHash" description:"Allow %23 in the path."`
}

// SetDefaults allows all of them.
func (c *EncodedCharacters) SetDefaults() {
	*c = EncodedCharacters{
		AllowEncodedSlash:         true,
		AllowEncodedBackSlash:     true,
		AllowEncodedNullCharacter: true,
		AllowEncodedSemicolon:     true,
		AllowEncodedPercent:       true,
		AllowEncodedQuestionMark:  true,
		AllowEncodedHash:          true,
	}
}

// HTTP2 holds the options of HTTP/2 on one entrypoint.
type HTTP2 struct {
	MaxConcurrentStreams      int  `json:"maxConcurrentStreams" description:"Largest number of streams of one connection at a time." range:"0..4294967295"`
	MaxDecoderHeaderTableSize int  `json:"maxDecoderHeaderTableSize" description:"Size of the table for decoding headers, in bytes." range:"0..4294967295"`
	MaxEncoderHeaderTableSize int  `json:"maxEncoderHeaderTableSize" description:"Largest size of the table for encoding headers, in bytes." range:"0..4294967295"`
	ExtendedConnect           bool `json:"extendedConnect" description:"Accept WebSockets over HTTP/2 (extended CONNECT, RFC 8441), each on a stream of its own, for endpoints that speak HTTP/1.1."`
}

// SetDefaults sets 250 streams, and the table size of RFC 7540, section 6.5.2.
func (h *HTTP2) SetDefaults() {
	h.MaxConcurrentStreams = 100
	h.MaxDecoderHeaderTableSize = 4096
	h.MaxEncoderHeaderTableSize = 4096
}

// HTTP3 holds the options of HTTP/3 on one entrypoint; its presence enables HTTP/3.
type HTTP3 struct {
	AdvertisedPort  int   `json:"advertisedPort" description:"UDP port that Alt-Svc advertises; 0 is the entrypoint's own." range:"0..65535"`
	ExtendedConnect bool  `json:"extendedConnect" description:"Accept WebSockets over HTTP/3 (extended CONNECT, RFC 9220), each on a stream of its own, for endpoints that speak HTTP/1.1; otherwise they are answered 501."`
	Allow0RTT       bool  `json:"allow0RTT" description:"Accept requests in early data (0-RTT), which an attacker can send again: GET and HEAD without a body are passed on with Early-Data: 1, others are answered 425."`
	QLog            *QLog `json:"qlog" description:"Record the events of each connection in a file (qlog), to find out what a path does to it. For a time: it costs much."`
	Withdrawn       bool  `json:"withdrawn" description:"Serve no HTTP/3, and have clients that have used it come back to TCP at once, by Alt-Svc: clear."`
}

// QLog says where the events of QUIC connections are recorded.
type QLog struct {
	Directory string `json:"directory" description:"Folder of the files, one for each connection. It must exist."`
	MaxFiles  int    `json:"maxFiles" description:"Largest number of files; the oldest one makes room for the next." range:"1.."`
	MaxBytes  int    `json:"maxBytes" description:"Largest size of a file, in bytes; later events are not recorded." range:"1.."`
}

// SetDefaults keeps a hundred files of 1 MiB.
func (q *QLog) SetDefaults() {
	q.MaxFiles = 100
	q.MaxBytes = 1 << 20
}
