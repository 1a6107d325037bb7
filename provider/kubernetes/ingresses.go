package kubernetes

import (
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingress"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx"
	"github.com/sluiceproxy/sluice/provider/kubernetes/report"
)

// addNGINX adds what reads the Ingresses of ingress-nginx. It precedes addIngress, since it decides which Ingresses
// kubernetesIngress leaves out.
func (c *Clusters) addNGINX() error {
	config := c.options.IngressNGINX
	if config == nil {
		return nil
	}
	where, err := c.connect(c.from(client.Options{
		Endpoint: config.Endpoint, Token: config.Token, CertAuthFilePath: config.CertAuthFilePath,
	}), ingressnginx.Namespaces(*config))
	if err != nil {
		return err
	}
	where.nginx, err = ingressnginx.New(where.Cluster, *config, c.options.EntryPoints, where.environments,
		c.options.Metrics)
	if err != nil {
		return err
	}
	if config.Publish {
		addresses, err := report.NewPublished(where.Cluster, where.nginx, *config)
		if err != nil {
			return err
		}
		where.addresses = append(where.addresses, addresses)
	}
	c.enterIngresses(where, ingressnginx.Name, where.nginx)
	return nil
}

func (c *Clusters) addIngress() error {
	config := c.options.Ingress
	if config == nil {
		return nil
	}
	where, err := c.connect(c.from(client.Options{
		Endpoint: config.Endpoint, Token: config.Token, CertAuthFilePath: config.CertAuthFilePath,
	}), config.Namespaces)
	if err != nil {
		return err
	}
	where.ingresses, err = ingress.New(where.Cluster, *config, where.environments, c.options.Metrics, where.exclusion())
	if err != nil {
		return err
	}
	addresses, err := report.NewAddresses(where.Cluster, where.ingresses, *config, c.options.Logger)
	if err != nil {
		return err
	}
	if addresses != nil {
		where.addresses = append(where.addresses, addresses)
	}
	c.enterIngresses(where, ingress.Name, where.ingresses)
	return nil
}

// enterIngresses adds a provider of Ingresses of a cluster.
func (c *Clusters) enterIngresses(where *cluster, name string, made provider.Provider) {
	where.readers = append(where.readers, name)
	c.entries = append(c.entries, provider.Entry{Name: name, Provider: made, Required: true})
}
