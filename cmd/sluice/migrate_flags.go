package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sluiceproxy/sluice/migrate/answer/live"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/static"
)

// migrateFlags are the flags of sluice migrate ingress-nginx.
type migrateFlags struct {
	files, output, hosts, old, new *[]string
	kubeconfig, context, format    *string
	write                          *string
	probes                         *int
	rate                           *float64
	controller                     controllerFlags
}

// The formats of reports.
const (
	reportText     = "text"
	reportHTML     = "html"
	reportMarkdown = "markdown"
	reportJSON     = "json"
)

func reportFormats() []string { return []string{reportHTML, reportJSON, reportMarkdown, reportText} }

// destination returns the format, and the file; empty for standard output.
func (f *migrateFlags) destination() (format, file string, err error) {
	format = *f.format
	for _, one := range *f.output {
		switch {
		case slices.Contains(reportFormats(), one) && (format == "" || format == one):
			format = one
		case slices.Contains(reportFormats(), one):
			return "", "", fmt.Errorf("the format is %s and %s", format, one)
		case file != "":
			return "", "", fmt.Errorf("--output names two files, %s and %s; the formats are %s", file, one,
				strings.Join(reportFormats(), ", "))
		default:
			file = one
		}
	}
	if format != "" && !slices.Contains(reportFormats(), format) {
		return "", "", fmt.Errorf("--format %s: one of %s", format, strings.Join(reportFormats(), ", "))
	}
	return cmp.Or(format, formatOf(file)), file, nil
}

// formatOf returns the format of a file by its extension.
func formatOf(file string) string {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".html", ".htm":
		return reportHTML
	case ".md", ".markdown":
		return reportMarkdown
	case ".json":
		return reportJSON
	}
	return reportText
}

// controllerFlags are arguments of ingress-nginx that change answers, under their names there.
type controllerFlags struct {
	class, controllerClass, configMap, namespace, selector, backend, certificate *string
	byName, withoutClass, disableCatchAll, passthrough                           *bool
	httpPort, httpsPort                                                          *uint16
	set                                                                          *pflag.FlagSet
}

// usualConfigMap is the ConfigMap of the chart of ingress-nginx with its default names.
const usualConfigMap = "ingress-nginx/ingress-nginx-controller"

func (c *controllerFlags) add(flags *pflag.FlagSet) {
	c.set = flags
	c.configMap = flags.String("configmap", "",
		"`NAMESPACE/NAME` of the controller's ConfigMap (default "+usualConfigMap+" if it exists)")
	c.class = flags.String("ingress-class", "nginx", "the `CLASS` of the controller")
	c.controllerClass = flags.String("controller-class", "k8s.io/ingress-nginx",
		"the `CONTROLLER` that IngressClasses of the controller name")
	c.byName = flags.Bool("ingress-class-by-name", false, "IngressClasses with the name of --ingress-class count too")
	c.withoutClass = flags.Bool("watch-ingress-without-class", false, "Ingresses without a class count too")
	c.namespace = flags.String("watch-namespace", "", "the `NAMESPACE` whose Ingresses count, in place of all")
	c.selector = flags.String("watch-namespace-selector", "",
		"the `LABELS` of the namespaces whose Ingresses count, as a selector")
	c.backend = flags.String("default-backend-service", "",
		"`NAMESPACE/NAME` of the Service for what no Ingress declares (default: 404)")
	c.certificate = flags.String("default-ssl-certificate", "",
		"`NAMESPACE/NAME` of the Secret with the certificate of hosts that have none")
	c.disableCatchAll = flags.Bool("disable-catch-all", false, "Ingresses with a default backend are not accepted")
	c.passthrough = flags.Bool("enable-ssl-passthrough", false,
		"the annotation ssl-passthrough has connections with TLS passed on as they are")
	c.httpPort = flags.Uint16("http-port", 80, "the `PORT` on which the controller listens for http, 1 to 65535")
	c.httpsPort = flags.Uint16("https-port", 443, "the `PORT` on which it listens for https, 1 to 65535")
}

// check reports names that are not of the form NAMESPACE/NAME, and ports that cannot be listened on.
func (c *controllerFlags) check() error {
	for _, one := range []struct{ name, value string }{
		{"configmap", *c.configMap}, {"default-backend-service", *c.backend}, {"default-ssl-certificate", *c.certificate},
	} {
		if _, _, ok := static.ObjectName(one.value); one.value != "" && !ok {
			return fmt.Errorf("--%s %s: it is NAMESPACE/NAME", one.name, one.value)
		}
	}
	switch {
	case *c.httpPort == 0:
		return errors.New("--http-port 0: it is at least 1")
	case *c.httpsPort == 0:
		return errors.New("--https-port 0: it is at least 1")
	case *c.httpPort == *c.httpsPort:
		return fmt.Errorf("--http-port and --https-port are both %d", *c.httpPort)
	}
	return nil
}

// apply writes the flags that are given into the options of the provider.
func (c *controllerFlags) apply(to *static.KubernetesNGINX) {
	text := func(name string, into, value *string) {
		if c.set.Changed(name) {
			*into = *value
		}
	}
	text("configmap", &to.ConfigMap, c.configMap)
	text("ingress-class", &to.IngressClass, c.class)
	text("controller-class", &to.ControllerClass, c.controllerClass)
	text("watch-namespace", &to.WatchNamespace, c.namespace)
	text("watch-namespace-selector", &to.WatchNamespaceSelector, c.selector)
	text("default-backend-service", &to.DefaultBackendService, c.backend)
	text("default-ssl-certificate", &to.DefaultSSLCertificate, c.certificate)
	for name, one := range map[string]struct{ into, value *bool }{
		"ingress-class-by-name":       {&to.IngressClassByName, c.byName},
		"watch-ingress-without-class": {&to.WatchIngressWithoutClass, c.withoutClass},
		"disable-catch-all":           {&to.DisableCatchAll, c.disableCatchAll},
		"enable-ssl-passthrough":      {&to.EnableSSLPassthrough, c.passthrough},
	} {
		if c.set.Changed(name) {
			*one.into = *one.value
		}
	}
}

// model returns how the controller runs that the provider takes the place of.
func (c *controllerFlags) model(provider *static.KubernetesNGINX, settings map[string]string) nginxmodel.Config {
	namespace, _, _ := static.ObjectName(provider.ConfigMap)
	return nginxmodel.Config{
		Class: provider.IngressClass, Controller: provider.ControllerClass, ClassByName: provider.IngressClassByName,
		WithoutClass: provider.WatchIngressWithoutClass, DisableCatchAll: provider.DisableCatchAll,
		DefaultBackend: provider.DefaultBackendService, Settings: settings, Namespace: namespace,
		SSLPassthrough: provider.EnableSSLPassthrough,
		HTTPPort:       strconv.Itoa(int(*c.httpPort)), HTTPSPort: strconv.Itoa(int(*c.httpsPort)),
	}
}

// errAddress is the error for addresses of another form.
var errAddress = errors.New("it is HOST, http://HOST[:PORT] or https://HOST[:PORT]")

// liveClient returns the client of a proxy in operation; nil without addresses.
func liveClient(flag string, addresses []string, rate float64) (*live.Client, error) {
	if len(addresses) == 0 {
		return nil, nil //nolint:nilnil // Without addresses there is none.
	}
	made := &live.Client{Rate: rate}
	for _, one := range addresses {
		if err := addAddress(made, one); err != nil {
			return nil, fmt.Errorf("--%s %s: %w", flag, one, err)
		}
	}
	return made, nil
}

// addAddress adds the address of one scheme or, for a host alone, those of both.
func addAddress(to *live.Client, address string) error {
	if !strings.Contains(address, "://") {
		host := strings.Trim(address, "[]")
		if net.ParseIP(host) == nil && strings.ContainsAny(host, ":/ ") || host == "" {
			return errAddress
		}
		return errors.Join(once(&to.HTTP, net.JoinHostPort(host, "80")), once(&to.HTTPS, net.JoinHostPort(host, "443")))
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" ||
		parsed.User != nil {
		return errAddress
	}
	switch parsed.Scheme {
	case "http":
		return once(&to.HTTP, net.JoinHostPort(parsed.Hostname(), cmp.Or(parsed.Port(), "80")))
	case "https":
		return once(&to.HTTPS, net.JoinHostPort(parsed.Hostname(), cmp.Or(parsed.Port(), "443")))
	}
	return errAddress
}

// once sets an address that is not set yet.
func once(to *string, address string) error {
	if *to != "" {
		return errors.New("the address of this scheme is given twice")
	}
	*to = address
	return nil
}
