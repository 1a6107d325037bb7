package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Files of the directory. The API server writes certificateFile, which is self-signed.
const (
	certificateFile = "apiserver.crt"
	kubeconfigFile  = "kubeconfig"
	accountKeyFile  = "serviceaccount.key"
	tokenFile       = "tokens.csv"
)

// writeKeys writes the administrator's token and the signing key of service account tokens, unless they exist from an
// earlier run. It returns the token.
func writeKeys(s settings) (token string, err error) {
	written, err := os.ReadFile(s.file(tokenFile))
	if err == nil {
		token, _, _ = strings.Cut(string(written), ",")
		return token, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(s.file(accountKeyFile), block, 0o600); err != nil {
		return "", err
	}
	token = rand.Text()
	line := fmt.Sprintf("%s,administrator,administrator,system:masters\n", token)
	return token, os.WriteFile(s.file(tokenFile), []byte(line), 0o600)
}

// writeKubeconfig writes the administrator's kubeconfig.
func writeKubeconfig(s settings, token string) error {
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: s.url(), CertificateAuthority: s.file(certificateFile)}
	config.AuthInfos["administrator"] = &api.AuthInfo{Token: token}
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: "administrator"}
	config.CurrentContext = "test"
	return clientcmd.WriteToFile(*config, s.file(kubeconfigFile))
}
