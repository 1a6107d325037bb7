package process

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/migrate/source"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// The keys of Secrets that annotations and spec.tls use.
const (
	keyAuth        = "auth"
	keyAuthority   = "ca.crt"
	keyRevocations = "ca.crl"
)

// secrets adds the Secrets that were given, and makes up the others.
func (c *cluster) secrets() error {
	kind := corev1.SchemeGroupVersion.WithKind("Secret")
	given := map[string]bool{}
	for _, one := range c.options.Secrets {
		given[one.Namespace+"/"+one.Name] = true
		if err := c.add(kind, one); err != nil {
			return err
		}
	}
	all := c.options.Objects.Secrets
	if len(all) == 0 {
		all = c.presumedSecrets()
	}
	users, hosts := c.named("auth-secret"), c.certified()
	for _, one := range all {
		name := one.Namespace + "/" + one.Name
		if given[name] {
			continue
		}
		made := &corev1.Secret{ObjectMeta: meta(name), Data: map[string][]byte{}}
		if slices.Contains(one.Keys, corev1.TLSCertKey) {
			made.Type = corev1.SecretTypeTLS
		}
		for _, key := range one.Keys {
			value, err := c.value(key, hosts[name], users[name])
			if err != nil {
				return err
			}
			made.Data[key] = value
		}
		if err := c.add(kind, made); err != nil {
			return err
		}
	}
	return nil
}

// presumedSecrets are those that Ingresses name, with all keys that they may need.
func (c *cluster) presumedSecrets() (all []source.Secret) {
	keys := map[string][]string{}
	for name := range c.certified() {
		keys[name] = []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}
	}
	for name := range c.named("auth-tls-secret") {
		keys[name] = append(keys[name], keyAuthority)
	}
	for name := range c.named("proxy-ssl-secret") {
		keys[name] = []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, keyAuthority}
	}
	for name := range c.named("auth-secret") {
		keys[name] = append(keys[name], keyAuth)
	}
	for name, of := range keys {
		at := meta(name)
		all = append(all, source.Secret{Namespace: at.Namespace, Name: at.Name, Keys: of})
	}
	return all
}

// certified returns the hosts of Secrets with certificates.
func (c *cluster) certified() map[string][]string {
	found := map[string][]string{}
	add := func(name string, hosts ...string) { found[name] = append(found[name], hosts...) }
	for i := range c.options.Objects.Ingresses {
		one := &c.options.Objects.Ingresses[i]
		for j := range one.Spec.TLS {
			tls := &one.Spec.TLS[j]
			if tls.SecretName == "" {
				continue
			}
			add(one.Namespace+"/"+tls.SecretName, tls.Hosts...)
			if len(tls.Hosts) == 0 {
				for _, rule := range one.Spec.Rules {
					add(one.Namespace+"/"+tls.SecretName, rule.Host)
				}
			}
		}
	}
	if name := c.options.Provider.DefaultSSLCertificate; name != "" {
		add(name)
	}
	return found
}

// value makes up the value of a key.
func (c *cluster) value(key string, hosts []string, users []*source.Ingress) ([]byte, error) {
	switch key {
	case corev1.TLSCertKey:
		return c.authority.issue(slices.DeleteFunc(hosts, func(host string) bool { return host == "" })...)
	case corev1.TLSPrivateKeyKey:
		return c.authority.keyPEM, nil
	case keyAuthority:
		return c.authority.rootPEM, nil
	case keyRevocations:
		return c.authority.revocations()
	}
	random := make([]byte, 20)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	hash := "{SHA}" + base64.StdEncoding.EncodeToString(random)
	if key != keyAuth {
		return []byte(hash), nil
	}
	digest := slices.ContainsFunc(users, func(one *source.Ingress) bool {
		return one.Annotations[annotation.Prefix+"auth-type"] == "digest"
	})
	if digest {
		hash = ":" + hex.EncodeToString(random[:16])
	}
	return []byte("user:" + hash + "\n"), nil
}
