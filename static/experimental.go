package static

// Experimental holds the switches for features of Traefik that were once experimental.
type Experimental struct {
	Plugins                map[string]Plugin      `json:"plugins" support:"warn" why:"middlewares that are plugins are not available, and routers that use one are disabled"`
	LocalPlugins           map[string]LocalPlugin `json:"localPlugins" support:"warn" why:"middlewares that are plugins are not available, and routers that use one are disabled"`
	AbortOnPluginFailure   bool                   `json:"abortOnPluginFailure"`
	FastProxy              *FastProxy             `json:"fastProxy"`
	OTLPLogs               bool                   `json:"otlplogs"`
	Knative                bool                   `json:"knative"`
	KubernetesGateway      bool                   `json:"kubernetesGateway"`
	KubernetesIngressNGINX bool                   `json:"kubernetesIngressNGINX"`
}

// FastProxy selects Traefik's second way to forward; Sluice has one.
type FastProxy struct {
	Debug bool `json:"debug"`
}

// Plugin is a plugin that Traefik downloads.
type Plugin struct {
	ModuleName string         `json:"moduleName"`
	Version    string         `json:"version"`
	Hash       string         `json:"hash"`
	Settings   PluginSettings `json:"settings"`
}

// LocalPlugin is a plugin that Traefik finds on disk.
type LocalPlugin struct {
	ModuleName string         `json:"moduleName"`
	Settings   PluginSettings `json:"settings"`
}

// PluginSettings says what a plugin may see.
type PluginSettings struct {
	Envs      []string `json:"envs"`
	Mounts    []string `json:"mounts"`
	UseUnsafe bool     `json:"useUnsafe"`
}
