package static

// rootKey is the key under which a key-value store holds the configuration by default.
const rootKey = "traefik"

// Consul reads the configuration from Consul's key-value store.
type Consul struct {
	RootKey    string     `json:"rootKey"`
	Endpoints  []string   `json:"endpoints" secret:"url"`
	Token      string     `json:"token" secret:"true"`
	TLS        *ClientTLS `json:"tls"`
	Namespaces []string   `json:"namespaces"`
}

// SetDefaults reaches the local agent.
func (c *Consul) SetDefaults() {
	c.RootKey = rootKey
	c.Endpoints = []string{"127.0.0.1:8500"}
}

// Etcd reads the configuration from etcd.
type Etcd struct {
	RootKey   string     `json:"rootKey"`
	Endpoints []string   `json:"endpoints" secret:"url"`
	TLS       *ClientTLS `json:"tls"`
	Username  string     `json:"username" secret:"true"`
	Password  string     `json:"password" secret:"true"`
}

// SetDefaults reaches the local server.
func (e *Etcd) SetDefaults() {
	e.RootKey = rootKey
	e.Endpoints = []string{"127.0.0.1:2379"}
}

// ZooKeeper reads the configuration from ZooKeeper.
type ZooKeeper struct {
	RootKey   string   `json:"rootKey"`
	Endpoints []string `json:"endpoints" secret:"url"`
	Username  string   `json:"username" secret:"true"`
	Password  string   `json:"password" secret:"true"`
}

// SetDefaults reaches the local server.
func (z *ZooKeeper) SetDefaults() {
	z.RootKey = rootKey
	z.Endpoints = []string{"127.0.0.1:2181"}
}

// Redis reads the configuration from Redis.
type Redis struct {
	RootKey   string         `json:"rootKey"`
	Endpoints []string       `json:"endpoints" secret:"url"`
	TLS       *ClientTLS     `json:"tls"`
	Username  string         `json:"username" secret:"true"`
	Password  string         `json:"password" secret:"true"`
	DB        int            `json:"db"`
	Sentinel  *RedisSentinel `json:"sentinel"`
}

// SetDefaults reaches the local server.
func (r *Redis) SetDefaults() {
	r.RootKey = rootKey
	r.Endpoints = []string{"127.0.0.1:6379"}
}

// RedisSentinel describes a Redis that is found through sentinels.
type RedisSentinel struct {
	MasterName              string `json:"masterName"`
	Username                string `json:"username" secret:"true"`
	Password                string `json:"password" secret:"true"`
	LatencyStrategy         bool   `json:"latencyStrategy"`
	RandomStrategy          bool   `json:"randomStrategy"`
	ReplicaStrategy         bool   `json:"replicaStrategy"`
	UseDisconnectedReplicas bool   `json:"useDisconnectedReplicas"`
}
