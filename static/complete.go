package static

import (
	"slices"
	"strings"
)

// complete turns what was written into the effective configuration: the entrypoints that exist by themselves, zeros
// that mean a default, and the spelling of names.
func complete(c *Configuration) {
	if len(c.EntryPoints) == 0 {
		addEntryPoint(c, DefaultEntryPoint, ":80")
	}
	if needsInternal(c) && c.entryPointName(InternalEntryPoint) == "" {
		addEntryPoint(c, InternalEntryPoint, ":8080")
	}
	for _, entryPoint := range c.EntryPoints {
		completeEntryPoint(c, entryPoint)
	}
	if c.Ping != nil {
		c.Ping.EntryPoint = c.spelled(c.Ping.EntryPoint)
	}
	if c.Metrics != nil && c.Metrics.Prometheus != nil {
		c.Metrics.Prometheus.EntryPoint = c.spelled(c.Metrics.Prometheus.EntryPoint)
	}
	if c.ServersTransport.MaxIdleConnsPerHost == 0 {
		c.ServersTransport.MaxIdleConnsPerHost = DefaultMaxIdleConnsPerHost
	}
	c.Providers.Precedence = completePrecedence(c.Providers.Precedence)
}

func addEntryPoint(c *Configuration, name, address string) {
	if c.EntryPoints == nil {
		c.EntryPoints = map[string]*EntryPoint{}
	}
	entryPoint := &EntryPoint{Address: address}
	entryPoint.SetDefaults()
	c.EntryPoints[name] = entryPoint
}

// needsInternal reports whether something is served on the internal entrypoint.
func needsInternal(c *Configuration) bool {
	internal := func(name string) bool { return strings.EqualFold(name, InternalEntryPoint) }
	return c.API != nil && c.API.Insecure ||
		c.Providers.Rest != nil && c.Providers.Rest.Insecure ||
		c.Ping != nil && !c.Ping.ManualRouting && internal(c.Ping.EntryPoint) ||
		c.Metrics != nil && c.Metrics.Prometheus != nil &&
			!c.Metrics.Prometheus.ManualRouting && internal(c.Metrics.Prometheus.EntryPoint)
}

func completeEntryPoint(c *Configuration, e *EntryPoint) {
	setZero(&e.HTTP.MaxHeaderBytes, DefaultMaxHeaderBytes)
	var http2 HTTP2
	http2.SetDefaults()
	setZero(&e.HTTP2.MaxConcurrentStreams, http2.MaxConcurrentStreams)
	setZero(&e.HTTP2.MaxDecoderHeaderTableSize, http2.MaxDecoderHeaderTableSize)
	setZero(&e.HTTP2.MaxEncoderHeaderTableSize, http2.MaxEncoderHeaderTableSize)
	if e.HTTP.Redirections != nil && e.HTTP.Redirections.EntryPoint != nil {
		redirect := e.HTTP.Redirections.EntryPoint
		redirect.To = c.spelled(redirect.To)
	}
}

func setZero(value *int, def int) {
	if *value == 0 {
		*value = def
	}
}

// entryPointName returns the name of an entrypoint as it is spelled in the configuration, or "".
func (c *Configuration) entryPointName(name string) string {
	for known := range c.EntryPoints {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}

// spelled returns the name of an entrypoint as it is spelled, or the name itself when there is none.
func (c *Configuration) spelled(name string) string {
	if known := c.entryPointName(name); known != "" {
		return known
	}
	return name
}

// completePrecedence appends the providers that were not named, in their usual order.
func completePrecedence(written []string) []string {
	var usual Providers
	usual.SetDefaults()
	var all []string
	for _, name := range slices.Concat(written, usual.Precedence) {
		if name = strings.ToLower(name); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
