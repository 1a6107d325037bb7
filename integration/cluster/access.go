package cluster

import (
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// AccountToken returns a token of a ServiceAccount, given as namespace/name, valid for an hour. Without audiences it is
// for the API server.
func (c *Cluster) AccountToken(account string, audiences ...string) string {
	c.t.Helper()
	namespace, name := split(account)
	request, err := c.Kubernetes.CoreV1().ServiceAccounts(namespace).CreateToken(
		c.t.Context(), name, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}},
		metav1.CreateOptions{})
	if err != nil {
		c.t.Fatalf("token of %s: %v", account, err)
	}
	return request.Status.Token
}

// AccountKubeconfig writes a kubeconfig for a ServiceAccount, given as namespace/name, and returns its path.
func (c *Cluster) AccountKubeconfig(account string) string {
	c.t.Helper()
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: c.Endpoint, CertificateAuthority: c.CAFile}
	config.AuthInfos["account"] = &api.AuthInfo{Token: c.AccountToken(account)}
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: "account"}
	config.CurrentContext = "test"
	path := filepath.Join(c.t.TempDir(), strings.ReplaceAll(account, "/", "-")+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// As returns a client with another token.
func (c *Cluster) As(token string) kubernetes.Interface {
	c.t.Helper()
	config, transport, err := config(c.Endpoint, c.CAFile, token)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(transport.CloseIdleConnections)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}
