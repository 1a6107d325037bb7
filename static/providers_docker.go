package static

import "time"

// defaultRule is the rule of a container or service that declares none.
const defaultRule = "Host(`{{ normalize .Name }}`)"

// dockerEndpoint is where the Docker engine listens by default.
const dockerEndpoint = "unix:///var/run/docker.sock"

// refreshInterval is how often a source is polled by default.
const refreshInterval = Duration(15 * time.Second)

// Docker reads the labels of containers.
type Docker struct {
	Constraints        string     `json:"constraints" description:"Expression of Label and LabelRegex that a container's labels must match."`
	Watch              bool       `json:"watch" description:"Follow the events of the engine."`
	Network            string     `json:"network" description:"Network through which containers are reached; the label docker.network overrides it."`
	DefaultRule        string     `json:"defaultRule" description:"Template of the rule of a router that has none."`
	UseBindPortIP      bool       `json:"useBindPortIP" description:"Reach containers where their ports are published on the host."`
	ExposedByDefault   bool       `json:"exposedByDefault" description:"Read containers without the label enable."`
	AllowEmptyServices bool       `json:"allowEmptyServices" description:"Keep the routes of containers that are not healthy, without servers."`
	Endpoint           string     `json:"endpoint" description:"Where the engine listens: unix:///PATH, tcp://HOST:PORT, http:// or https://." secret:"url"`
	Username           string     `json:"username" description:"User of the engine's basic authentication." secret:"true"`
	Password           string     `json:"password" description:"Password of the engine's basic authentication." secret:"true"`
	HTTPClientTimeout  Duration   `json:"httpClientTimeout" description:"Longest time that the engine may take for an answer; 0 is 30 seconds." range:"0.."`
	TLS                *ClientTLS `json:"tls" description:"TLS towards the engine."`
}

// SetDefaults exposes every container of the local engine.
func (d *Docker) SetDefaults() {
	d.Watch = true
	d.ExposedByDefault = true
	d.Endpoint = dockerEndpoint
	d.DefaultRule = defaultRule
}

// Swarm reads the labels of Swarm services.
type Swarm struct {
	Constraints        string     `json:"constraints"`
	Watch              bool       `json:"watch"`
	Network            string     `json:"network"`
	DefaultRule        string     `json:"defaultRule"`
	UseBindPortIP      bool       `json:"useBindPortIP"`
	ExposedByDefault   bool       `json:"exposedByDefault"`
	AllowEmptyServices bool       `json:"allowEmptyServices"`
	Endpoint           string     `json:"endpoint" secret:"url"`
	Username           string     `json:"username" secret:"true"`
	Password           string     `json:"password" secret:"true"`
	HTTPClientTimeout  Duration   `json:"httpClientTimeout"`
	RefreshSeconds     Duration   `json:"refreshSeconds"`
	TLS                *ClientTLS `json:"tls"`
}

// SetDefaults exposes every service of the local engine.
func (s *Swarm) SetDefaults() {
	s.Watch = true
	s.ExposedByDefault = true
	s.Endpoint = dockerEndpoint
	s.DefaultRule = defaultRule
	s.RefreshSeconds = refreshInterval
}

// ECS reads the labels of Amazon ECS tasks.
type ECS struct {
	Constraints          string   `json:"constraints"`
	ExposedByDefault     bool     `json:"exposedByDefault"`
	RefreshSeconds       int      `json:"refreshSeconds"`
	DefaultRule          string   `json:"defaultRule"`
	Clusters             []string `json:"clusters"`
	AutoDiscoverClusters bool     `json:"autoDiscoverClusters"`
	HealthyTasksOnly     bool     `json:"healthyTasksOnly"`
	ECSAnywhere          bool     `json:"ecsAnywhere"`
	Region               string   `json:"region"`
	AccessKeyID          string   `json:"accessKeyID" secret:"true"`
	SecretAccessKey      string   `json:"secretAccessKey" secret:"true"`
}

// SetDefaults exposes every task of the cluster default.
func (e *ECS) SetDefaults() {
	e.ExposedByDefault = true
	e.RefreshSeconds = 15
	e.DefaultRule = defaultRule
	e.Clusters = []string{"default"}
}
