package kubernetes

// Environments is how the Services of all clusters are divided.
type Environments struct {
	// Objects are the VirtualEnvironments that apply, as namespace/name.
	Objects []string
	// Services are the ports that are divided, as namespace/service:port, with the tags of their environments. Those of a
	// second cluster and of further ones begin with its name.
	Services map[string][]string
}

// Environments returns how Services are divided now.
func (c *Clusters) Environments() Environments {
	all := Environments{Services: map[string][]string{}}
	for _, one := range c.order {
		all.Objects = append(all.Objects, one.policies.Applied()...)
		for name, tags := range one.environments.Divided() {
			if one.number > 1 { // Another cluster may have the same Service.
				name = one.Source() + "/" + name
			}
			all.Services[name] = tags
		}
	}
	return all
}
