package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"
)

// kubeletPort is the port of a node's API, which the API server asks for logs.
const kubeletPort = 10250

// kubelet is the API of a node.
type kubelet struct {
	server  *http.Server
	serving sync.WaitGroup
}

// startKubelet serves the logs of the pods.
func startKubelet(listener net.Listener, nodes *Nodes) (*kubelet, error) {
	certificate, err := selfSigned()
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", nodes.serveLog)
	k := &kubelet{server: &http.Server{
		Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}}
	k.serving.Go(func() { _ = k.server.ServeTLS(listener, "", "") }) // returns ErrServerClosed
	return k, nil
}

func (k *kubelet) stop() {
	_ = k.server.Close()
	k.serving.Wait()
}

// serveLog answers with the log of a pod, which all of its containers share.
func (n *Nodes) serveLog(w http.ResponseWriter, r *http.Request) {
	namespace, name := r.PathValue("namespace"), r.PathValue("pod")
	n.mutex.Lock()
	var found *journal
	for _, p := range n.pods {
		if p.namespace == namespace && p.name == name {
			found = p.log
		}
	}
	n.mutex.Unlock()
	if found == nil {
		http.Error(w, "no such pod", http.StatusNotFound)
		return
	}
	found.serve(w, r)
}

// selfSigned returns a certificate that no client verifies.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
