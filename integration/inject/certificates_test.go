package inject

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// secretName is the Secret of the authority, in which these keys are.
const (
	secretName      = "sluice-injector-ca" //nolint:gosec // A name.
	certificatesKey = "ca.crt"
	keysKey         = "ca.key"
)

// secret returns the Secret of the authority.
func (f *field) secret() *corev1.Secret {
	f.t.Helper()
	secret, err := f.Kubernetes.CoreV1().Secrets(system).Get(f.t.Context(), secretName, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return secret
}

// change changes the Secret of the authority, which a replica may change as well.
func (f *field) change(how func(data map[string][]byte)) {
	f.t.Helper()
	f.until("the Secret is changed", func() bool {
		secret := f.secret()
		how(secret.Data)
		_, err := f.Kubernetes.CoreV1().Secrets(system).Update(f.t.Context(), secret, metav1.UpdateOptions{})
		return err == nil
	})
}

// presented returns the certificate that a replica presents.
func presented(t *testing.T, address string) *x509.Certificate {
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // The caller checks.
	connection, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return nil
	}
	defer connection.Close() //nolint:errcheck // nothing was sent
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

// signedBy reports whether a certificate is signed by an authority.
func signedBy(certificate, authority *x509.Certificate) bool {
	return certificate != nil && certificate.CheckSignatureFrom(authority) == nil
}

// authorities returns the authorities in a Secret.
func authorities(data []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, certificate)
		}
	}
	return all
}

// newAuthority returns an authority that was made some time ago, and its key, as PEM.
func newAuthority(t *testing.T, age time.Duration) (certificate *x509.Certificate, certificatePEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now().Add(-age - time.Hour)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: fmt.Sprint("test ", age)},
		NotBefore: begin, NotAfter: begin.Add(365 * 24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// atATime is how many pods are created at a time. API servers give up a review after some seconds, which a slow
// machine may need for any number of them.
const atATime = 20

// creating creates pods until it is stopped, most at a time, and returns the number of pods, and those that were
// refused or not injected. Before, made is the number of pods so far.
func (f *field) creating(every time.Duration, most int) (made func() int, stop func() (all int, wrong []string)) {
	places := make(chan struct{}, most)
	ctx, cancel := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	var mu sync.Mutex
	var all int
	var wrong []string
	one := func(number int) {
		defer func() { <-places }()
		admitted, err := f.Kubernetes.CoreV1().Pods(shop).Create(context.WithoutCancel(ctx),
			pod(fmt.Sprint("load-", number)), metav1.CreateOptions{})
		mu.Lock()
		defer mu.Unlock()
		all++
		if err != nil {
			wrong = append(wrong, err.Error())
		} else if injected(admitted) == "" {
			wrong = append(wrong, admitted.Name+" is not injected")
		}
	}
	running.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for number := 0; ; number++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			select {
			case <-ctx.Done():
				return
			case places <- struct{}{}:
				running.Go(func() { one(number) })
			}
		}
	})
	made = func() int {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
	return made, func() (int, []string) {
		cancel()
		running.Wait()
		return all, wrong
	}
}

// TestAuthorityRotates has two replicas follow authorities that are added, damaged and deleted, while pods are
// created: all of them are injected.
func TestAuthorityRotates(t *testing.T) {
	f := prepare(t)
	replicas := []*replica{f.start(), f.start()}
	f.untilInjected("first")
	if text, err := f.Kubernetes.CoreV1().Secrets(system).List(t.Context(), metav1.ListOptions{}); err != nil ||
		len(text.Items) != 1 {
		t.Fatalf("Secrets: %v, %v", text, err)
	}
	_, stop := f.creating(25*time.Millisecond, atATime)

	switched := func(what string, to func() *x509.Certificate) {
		t.Helper()
		f.until(what, func() bool {
			authority := to()
			return authority != nil && signedBy(presented(t, replicas[0].address), authority) &&
				signedBy(presented(t, replicas[1].address), authority)
		})
	}
	// An authority that a third replica has made in time signs after it is published.
	next, certificate, key := newAuthority(t, 2*time.Minute)
	old, oldCertificate, oldKey := newAuthority(t, 200*24*time.Hour)
	f.change(func(data map[string][]byte) {
		data[certificatesKey] = bytes.Join([][]byte{oldCertificate, data[certificatesKey], certificate}, nil)
		data[keysKey] = bytes.Join([][]byte{oldKey, data[keysKey], key}, nil)
	})
	switched("both replicas have a certificate of the authority that was added", func() *x509.Certificate { return next })
	if all := authorities(f.secret().Data[certificatesKey]); len(all) != 3 || !all[0].Equal(old) {
		t.Errorf("an authority was removed whose certificates may be in use: there are %d", len(all))
	}

	youngest := func() *x509.Certificate {
		all := authorities(f.secret().Data[certificatesKey])
		if len(all) == 0 {
			return nil
		}
		return all[len(all)-1]
	}
	// Without any authority that signs, a new one is made at once.
	f.change(func(data map[string][]byte) { data[keysKey] = []byte("damaged") })
	switched("both replicas have a certificate of a new authority", youngest)
	damaged := youngest()
	if err := f.Kubernetes.CoreV1().Secrets(system).Delete(t.Context(), secretName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	switched("both replicas have a certificate of another authority", func() *x509.Certificate {
		secret, err := f.Kubernetes.CoreV1().Secrets(system).Get(t.Context(), secretName, metav1.GetOptions{})
		if err != nil {
			return nil
		}
		all := authorities(secret.Data[certificatesKey])
		if last := all[len(all)-1]; !last.Equal(damaged) {
			return last
		}
		return nil
	})
	all, wrong := stop()
	t.Logf("%d pods were created", all)
	if len(wrong) > 0 {
		t.Errorf("of %d pods, %d were refused or not injected: %.2000s", all, len(wrong), fmt.Sprint(wrong))
	}
}

// TestCertificateFromFiles leaves the caBundle alone, and follows the files.
func TestCertificateFromFiles(t *testing.T) {
	f := prepare(t)
	authority := harness.NewAuthority(t)
	host := name + "." + system + ".svc"
	issued := authority.Issue(host)
	webhooks := f.Kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations()
	registered, err := webhooks.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := os.ReadFile(authority.File)
	if err != nil {
		t.Fatal(err)
	}
	registered.Webhooks[0].ClientConfig.CABundle = bundle
	if _, err := webhooks.Update(t.Context(), registered, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	one := f.start("--tls.certFile="+issued.CertFile, "--tls.keyFile="+issued.KeyFile)
	f.untilInjected("first")
	before := presented(t, one.address)
	authority.Issue(host) // In the same files.
	f.until("the new certificate is presented", func() bool {
		now := presented(t, one.address)
		return now != nil && !now.Equal(before)
	})
	registered, err = webhooks.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || !bytes.Equal(registered.Webhooks[0].ClientConfig.CABundle, bundle) {
		t.Errorf("the caBundle was changed: %v", err)
	}
}
