package static

// ConsulCatalog reads the services of a Consul catalog.
type ConsulCatalog struct {
	Constraints       string          `json:"constraints"`
	Endpoint          *ConsulEndpoint `json:"endpoint"`
	Prefix            string          `json:"prefix"`
	RefreshInterval   Duration        `json:"refreshInterval"`
	RequireConsistent bool            `json:"requireConsistent"`
	Stale             bool            `json:"stale"`
	Cache             bool            `json:"cache"`
	ExposedByDefault  bool            `json:"exposedByDefault"`
	DefaultRule       string          `json:"defaultRule"`
	ConnectAware      bool            `json:"connectAware"`
	ConnectByDefault  bool            `json:"connectByDefault"`
	ServiceName       string          `json:"serviceName"`
	Watch             bool            `json:"watch"`
	StrictChecks      []string        `json:"strictChecks"`
	Namespaces        []string        `json:"namespaces"`
}

// SetDefaults exposes every healthy service.
func (c *ConsulCatalog) SetDefaults() {
	c.Prefix = "traefik"
	c.RefreshInterval = refreshInterval
	c.ExposedByDefault = true
	c.DefaultRule = defaultRule
	c.ServiceName = "traefik"
	c.StrictChecks = []string{"passing", "warning"}
}

// ConsulEndpoint is where Consul listens.
type ConsulEndpoint struct {
	Address          string          `json:"address" secret:"url"`
	Scheme           string          `json:"scheme"`
	Datacenter       string          `json:"datacenter"`
	Token            string          `json:"token" secret:"true"`
	EndpointWaitTime Duration        `json:"endpointWaitTime"`
	TLS              *ClientTLS      `json:"tls"`
	HTTPAuth         *ConsulHTTPAuth `json:"httpAuth"`
}

// ConsulHTTPAuth is the basic authentication towards Consul.
type ConsulHTTPAuth struct {
	Username string `json:"username" secret:"true"`
	Password string `json:"password" secret:"true"`
}

// Nomad reads the services of Nomad.
type Nomad struct {
	Constraints        string         `json:"constraints"`
	Endpoint           *NomadEndpoint `json:"endpoint"`
	Prefix             string         `json:"prefix"`
	Stale              bool           `json:"stale"`
	Namespaces         []string       `json:"namespaces"`
	ExposedByDefault   bool           `json:"exposedByDefault"`
	RefreshInterval    Duration       `json:"refreshInterval"`
	DefaultRule        string         `json:"defaultRule"`
	AllowEmptyServices bool           `json:"allowEmptyServices"`
	Watch              bool           `json:"watch"`
	ThrottleDuration   Duration       `json:"throttleDuration"`
}

// SetDefaults exposes every service.
func (n *Nomad) SetDefaults() {
	n.Prefix = "traefik"
	n.ExposedByDefault = true
	n.RefreshInterval = refreshInterval
	n.DefaultRule = defaultRule
}

// NomadEndpoint is where Nomad listens.
type NomadEndpoint struct {
	Address          string     `json:"address" secret:"url"`
	Region           string     `json:"region"`
	Token            string     `json:"token" secret:"true"`
	EndpointWaitTime Duration   `json:"endpointWaitTime"`
	TLS              *ClientTLS `json:"tls"`
}

// SetDefaults reaches the local agent.
func (n *NomadEndpoint) SetDefaults() {
	n.Address = "http://127.0.0.1:4646"
}
