package client

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// configure turns options into the configuration of a connection.
func configure(options Options) (*rest.Config, error) {
	if options.Transport != nil {
		return &rest.Config{Host: "http://manifests", QPS: -1, WarningHandler: rest.NoWarnings{}}, nil
	}
	config, err := locate(options)
	if err != nil {
		return nil, err
	}
	if options.CertAuthFilePath != "" {
		if _, err := os.Stat(options.CertAuthFilePath); err != nil {
			return nil, fmt.Errorf("certAuthFilePath: %w", err)
		}
		config.CAFile, config.CAData = options.CertAuthFilePath, nil
	}
	if options.Token != "" {
		config.BearerToken, config.BearerTokenFile = options.Token, ""
		_, err := os.Stat(options.Token)
		if filepath.IsAbs(options.Token) && err != nil { // No token begins like that.
			return nil, fmt.Errorf("token: %w", err)
		}
		if err == nil {
			config.BearerToken, config.BearerTokenFile = "", options.Token
		}
	}
	readToken(config)
	config.UserAgent = "sluice"
	// Watches are few and long; the API server limits them by its own priority and fairness.
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	// A dialer of one's own makes the transport one's own, too: client-go shares transports otherwise, and closing its
	// idle connections would then close those of strangers. While a watch is quiet, a peer that has gone without a word is
	// noticed only by asking: within half a minute here, and over TLS within three quarters of one by the pings of HTTP/2,
	// which something in between cannot answer for it.
	config.Dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}).DialContext
	return config, nil
}

// locate finds the cluster.
func locate(options Options) (*rest.Config, error) {
	if options.Endpoint != "" {
		return &rest.Config{Host: options.Endpoint}, nil
	}
	if options.Kubeconfig != "" {
		return load(&clientcmd.ClientConfigLoadingRules{ExplicitPath: options.Kubeconfig}, options)
	}
	if options.Context == "" && os.Getenv("KUBERNETES_SERVICE_HOST") != "" && os.Getenv("KUBERNETES_SERVICE_PORT") != "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("in cluster: %w", err)
		}
		return config, nil
	}
	path := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if path == "" {
		return nil, fmt.Errorf("no cluster: not running in one, and neither endpoint nor %s is set",
			clientcmd.RecommendedConfigPathEnvVar)
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: clientcmd.NewDefaultClientConfigLoadingRules().Precedence}
	config, err := load(rules, options)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", clientcmd.RecommendedConfigPathEnvVar, path, err)
	}
	return config, nil
}

// load reads kubeconfig files.
func load(rules *clientcmd.ClientConfigLoadingRules, options Options) (*rest.Config, error) {
	overrides := &clientcmd.ConfigOverrides{CurrentContext: options.Context}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
}

// newScheme registers the types that can be read and written.
func newScheme(schemes []func(*runtime.Scheme) error) (*runtime.Scheme, error) {
	types := runtime.NewScheme()
	metav1.AddToGroupVersion(types, schema.GroupVersion{Version: "v1"})
	builtin := []func(*runtime.Scheme) error{
		corev1.AddToScheme, discoveryv1.AddToScheme, networkingv1.AddToScheme, coordinationv1.AddToScheme,
		authenticationv1.AddToScheme,
	}
	for _, register := range append(builtin, schemes...) {
		if err := register(types); err != nil {
			return nil, fmt.Errorf("types: %w", err)
		}
	}
	return types, nil
}

// REST returns the client of one group and version: protobuf for the APIs of Kubernetes itself, JSON for others. It
// makes no request. Options of requests are encoded with metav1.ParameterCodec.
func (c *Cluster) REST(version schema.GroupVersion) (rest.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.clients[version]; ok {
		return known, nil
	}
	config := rest.CopyConfig(c.config)
	config.GroupVersion = &version
	config.APIPath = "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = jsonSerializer{c.codecs.WithoutConversion(), c.scheme}
	if builtin(version.Group) {
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	made, err := rest.RESTClientForConfigAndClient(config, c.http)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %s: %w", version, err)
	}
	c.clients[version] = made
	return made, nil
}

// builtin reports whether the group is Kubernetes' own, which supports protobuf.
func builtin(group string) bool {
	switch group {
	case corev1.GroupName, discoveryv1.GroupName, networkingv1.GroupName, coordinationv1.GroupName,
		authenticationv1.GroupName:
		return true
	}
	return false
}
