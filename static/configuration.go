package static

import (
	"github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/document"
)

// Configuration is the root of the static configuration.
// A nil pointer in it means that the section was not written; everything else carries its default.
type Configuration struct {
	Global                Global                          `json:"global" description:"Options that apply everywhere."`
	ServersTransport      ServersTransport                `json:"serversTransport" description:"How endpoints are reached when a service names no transport of its own."`
	TCPServersTransport   *TCPServersTransport            `json:"tcpServersTransport" description:"How endpoints of TCP services are reached when a service names no transport of its own."`
	EntryPoints           map[string]*EntryPoint          `json:"entryPoints" description:"The addresses on which traffic comes in, by name."`
	Providers             Providers                       `json:"providers" description:"Where the dynamic configuration comes from."`
	API                   *API                            `json:"api" description:"The read-only management API."`
	Metrics               *Metrics                        `json:"metrics" description:"Where metrics go."`
	Ping                  *Ping                           `json:"ping" description:"The /ping and /ready endpoints."`
	Log                   Log                             `json:"log" description:"The log of Sluice itself."`
	AccessLog             *AccessLog                      `json:"accessLog" description:"The log of requests."`
	Tracing               *Tracing                        `json:"tracing" description:"Traces of requests."`
	HostResolver          *HostResolver                   `json:"hostResolver" description:"CNAME flattening of the request's host." support:"warn" why:"rules see the host as the client sent it"`
	CertificatesResolvers map[string]*CertificateResolver `json:"certificatesResolvers" description:"Certificates that are obtained automatically."`
	SessionTickets        *SessionTickets                 `json:"sessionTickets" description:"Session tickets that all replicas accept."`
	Experimental          *Experimental                   `json:"experimental" description:"Switches for features of Traefik that were once experimental." support:"inert"`
	Core                  *Core                           `json:"core" description:"Deprecated options of the rule language."`
	Spiffe                *Spiffe                         `json:"spiffe" description:"The SPIFFE Workload API."`
	XDS                   *XDS                            `json:"xds" description:"Publication of services and endpoints to xDS clients."`
	Injector              *Injector                       `json:"injector" description:"The admission webhook that injects into pods."`
	Inspector             *Inspector                      `json:"inspector" description:"The interface for the inspector of KT-env."`
	Handover              *Handover                       `json:"handover" description:"Hand-over of the sockets to a successor, so that an upgrade refuses no client."`
	Zone                  string                          `json:"zone" description:"Zone that Sluice runs in, whose endpoints are preferred; without it, and with access to a cluster, that of the node NODE_NAME."`
	Descriptors           Descriptors                     `json:"descriptors" description:"File descriptors of the process."`
	Overload              Overload                        `json:"overload" description:"What Sluice does while memory, CPU or connections are short."`
	OCSP                  *OCSP                           `json:"ocsp" description:"OCSP responses are obtained in the background and stapled to the certificates that name a responder; {} switches it on."`
}

// Sections returns the names of the root sections of a document of the static configuration.
func Sections() []string { return document.Keys(Configuration{}) }

// SetDefaults fills in the defaults of every section that is always present.
func (c *Configuration) SetDefaults() {
	c.Global.SetDefaults()
	c.ServersTransport.SetDefaults()
	c.Providers.SetDefaults()
	c.Log.SetDefaults()
	c.Descriptors.SetDefaults()
	c.Overload.SetDefaults()
}

// Global holds the options that apply everywhere.
type Global struct {
	CheckNewVersion        bool `json:"checkNewVersion" description:"Check for new versions of Traefik; Sluice never does." support:"inert"`
	SendAnonymousUsage     bool `json:"sendAnonymousUsage" description:"Send usage statistics; Sluice never sends any." support:"inert"`
	NotAppendXForwardedFor bool `json:"notAppendXForwardedFor" description:"Leave X-Forwarded-For as it was received on every entrypoint."`
}

// SetDefaults sets what Traefik sets.
func (g *Global) SetDefaults() {
	g.CheckNewVersion = true
}

// Core holds the deprecated options of the rule language.
type Core struct {
	DefaultRuleSyntax string `json:"defaultRuleSyntax" description:"Syntax of rules whose router names none: v3, or v2, which is deprecated."`
}

// SetDefaults selects the v3 syntax.
func (c *Core) SetDefaults() {
	c.DefaultRuleSyntax = "v3"
}

// HostResolver describes CNAME flattening.
type HostResolver struct {
	CnameFlattening bool   `json:"cnameFlattening"`
	ResolvConfig    string `json:"resolvConfig"`
	ResolvDepth     int    `json:"resolvDepth"`
}

// SetDefaults sets the resolver's configuration file and depth.
func (h *HostResolver) SetDefaults() {
	h.ResolvConfig = "/etc/resolv.conf"
	h.ResolvDepth = 5
}

// Spiffe names the SPIFFE Workload API.
type Spiffe struct {
	WorkloadAPIAddr string `json:"workloadAPIAddr" description:"Address of the Workload API that delivers Sluice's X.509-SVID and the trust bundles: unix:///path/of/socket or tcp://IP:port. SPIFFE_ENDPOINT_SOCKET is not read." secret:"url"`
}

// SessionTickets says where the secret of session tickets is kept.
type SessionTickets struct {
	Storage string `json:"storage" description:"Where the secret that all replicas share is kept: a file for several processes of a machine, kubernetes://NAMESPACE, redis://HOST:PORT/DB or etcd://HOST:PORT/PREFIX. It may be that of a certificate resolver." secret:"url"`
}

// OCSP describes OCSP stapling.
type OCSP struct {
	ResponderOverrides map[string]string `json:"responderOverrides" description:"The URL that is queried in place of the URL of a responder in certificates, by that." secret:"host"`
}

// Duration is a length of time; a bare integer in the configuration counts seconds.
type Duration = types.Duration
