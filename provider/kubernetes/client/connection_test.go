package client_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/telemetry"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: SERVER, certificate-authority: AUTHORITY}}]
users: [{name: me, user: {token: from-kubeconfig}}]
`

func TestConnectFindsTheCluster(t *testing.T) {
	var seen *http.Request
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	t.Cleanup(server.Close)
	file, ca := filepath.Join(t.TempDir(), "kubeconfig"), filepath.Join(t.TempDir(), "ca.crt")
	text := strings.NewReplacer("SERVER", server.URL, "AUTHORITY", ca).Replace(kubeconfig)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for path, content := range map[string]string{file: text, ca: string(certificate)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name       string
		options    client.Options
		kubeconfig string
		token      string
	}{
		{"endpoint and token", client.Options{Endpoint: server.URL, Token: "given", CertAuthFilePath: ca}, "", "given"},
		{"endpoint before kubeconfig", client.Options{Endpoint: server.URL, CertAuthFilePath: ca}, file, ""},
		{"kubeconfig", client.Options{}, file, "from-kubeconfig"},
		{"kubeconfig with another token", client.Options{Token: "given"}, file, "given"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			t.Setenv("KUBECONFIG", test.kubeconfig)
			cluster, err := client.Connect(test.options, "kubernetes", telemetry.Discard{})
			if err != nil {
				t.Fatal(err)
			}
			rest, err := cluster.REST(schema.GroupVersion{Version: "v1"})
			if err != nil {
				t.Fatal(err)
			}
			seen = nil
			rest.Get().Resource("nodes").Do(t.Context())
			if seen == nil {
				t.Fatal("the request has not arrived")
			}
			if got := seen.Header.Get("Authorization"); strings.TrimPrefix(got, "Bearer ") != test.token {
				t.Errorf("Authorization %q, want %q", got, test.token)
			}
			if got := seen.UserAgent(); got != "sluice" {
				t.Errorf("User-Agent %q", got)
			}
			if got := seen.Header.Get("Accept"); !strings.HasPrefix(got, "application/vnd.kubernetes.protobuf") {
				t.Errorf("Accept %q, want protobuf for an API of Kubernetes itself", got)
			}
			server.CloseClientConnections()
		})
	}
}

func TestConnectRefuses(t *testing.T) {
	tests := []struct {
		name       string
		options    client.Options
		kubeconfig string
		want       string
	}{
		{"no cluster", client.Options{}, "", "no cluster"},
		{"no kubeconfig file", client.Options{}, "/nonexistent/kubeconfig", "/nonexistent/kubeconfig"},
		{
			"no token file",
			client.Options{Endpoint: "https://127.0.0.1:1", Token: "/nonexistent/token"},
			"",
			"/nonexistent/token",
		},
		{
			"no CA file",
			client.Options{Endpoint: "https://127.0.0.1:1", CertAuthFilePath: "/nonexistent/ca.crt"},
			"",
			"/nonexistent/ca.crt",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			t.Setenv("KUBECONFIG", test.kubeconfig)
			_, err := client.Connect(test.options, "kubernetes", telemetry.Discard{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

// TestTypesOfUsers demands that the client itself registers only the types that it lists.
func TestTypesOfUsers(t *testing.T) {
	cluster, err := client.Connect(client.Options{Endpoint: "http://127.0.0.1:1"}, "elsewhere", telemetry.Discard{},
		addWidgets)
	if err != nil {
		t.Fatal(err)
	}
	if cluster.Source() != "elsewhere" {
		t.Errorf("source %q", cluster.Source())
	}
	for _, version := range []schema.GroupVersion{corev1.SchemeGroupVersion, widgetVersion} {
		first, err := cluster.REST(version)
		if err != nil {
			t.Fatal(err)
		}
		if second, _ := cluster.REST(version); second != first {
			t.Errorf("%s: the client is made twice", version)
		}
	}
}
