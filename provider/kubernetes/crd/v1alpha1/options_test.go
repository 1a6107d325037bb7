package v1alpha1_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// options collects the paths of the options of a struct. What refers to another object is one option.
func options(into map[string]bool, path string, of reflect.Type) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	switch of {
	case reflect.TypeFor[v1alpha1.ObjectRef](), reflect.TypeFor[v1alpha1.Service]():
		into[path] = true
		return
	}
	if of.Kind() != reflect.Struct || strings.HasSuffix(of.PkgPath(), "intstr") {
		into[path] = true
		return
	}
	if of.NumField() == 0 {
		into[path] = true
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "":
			options(into, path, field.Type)
		default:
			options(into, strings.TrimPrefix(path+"."+name, "."), field.Type)
		}
	}
}

// TestOptionsAreThoseOfFiles demands that manifests can say all that files can, by the same names. What one of them
// says otherwise is listed here: "-" is known to files alone, "+" to manifests alone.
func TestOptionsAreThoseOfFiles(t *testing.T) {
	tests := map[string]struct {
		file, manifest any
		differences    []string
	}{
		"middleware": {dynamic.Middleware{}, v1alpha1.MiddlewareSpec{}, []string{
			"-basicAuth.users", "-basicAuth.usersFile", "+basicAuth.secret",
			"-digestAuth.users", "-digestAuth.usersFile", "+digestAuth.secret",
			"-forwardAuth.tls.ca", "-forwardAuth.tls.cert", "-forwardAuth.tls.key",
			"+forwardAuth.tls.caSecret", "+forwardAuth.tls.certSecret",
			"-rateLimit.redis.username", "-rateLimit.redis.password", "+rateLimit.redis.secret",
			"-rateLimit.redis.tls.ca", "-rateLimit.redis.tls.cert", "-rateLimit.redis.tls.key",
			"-rateLimit.redis.tls.caOptional",
			"+rateLimit.redis.tls.caSecret", "+rateLimit.redis.tls.certSecret",
			"-jwt.jwksFile", "-jwt.publicKeyFile", "-jwt.signingSecret", "-jwt.signingSecretFile", "+jwt.secret",
			"-jwt.tls.ca", "-jwt.tls.cert", "-jwt.tls.key", "-jwt.tls.caOptional", "+jwt.tls.caSecret", "+jwt.tls.certSecret",
			"-environment.trust.signed.key", "-environment.trust.signed.keyFile", "+environment.trust.signed.secret",
			"-authRequest.tls.ca", "-authRequest.tls.cert", "-authRequest.tls.key", "-authRequest.tls.caOptional",
			"+authRequest.tls.caSecret", "+authRequest.tls.certSecret",
			"-clientCertificate.caFiles", "-clientCertificate.crlFiles", "+clientCertificate.secretNames",
		}},
		"transport": {dynamic.ServersTransport{}, v1alpha1.ServersTransportSpec{}, []string{
			"-rootCAs", "+rootCAs.secret", "+rootCAs.configMap", "+rootCAsSecrets",
			"-certificates.certFile", "-certificates.keyFile", "+certificatesSecrets",
		}},
		"transportTCP": {dynamic.TCPServersTransport{}, v1alpha1.ServersTransportTCPSpec{}, []string{
			"-tls.rootCAs", "+tls.rootCAs.secret", "+tls.rootCAs.configMap", "+tls.rootCAsSecrets",
			"-tls.certificates.certFile", "-tls.certificates.keyFile", "+tls.certificatesSecrets",
		}},
		"middlewareTCP": {dynamic.TCPMiddleware{}, v1alpha1.MiddlewareTCPSpec{}, nil},
		"balancerTCP": {dynamic.TCPServersLoadBalancer{}, v1alpha1.ServiceTCP{}, []string{
			"-servers.address", "-servers.tls", "-servers.weight",
			"+name", "+namespace", "+port", "+tls", "+weight", "+nativeLB", "+nodePortLB",
		}},
		"balancerUDP": {dynamic.UDPServersLoadBalancer{}, v1alpha1.ServiceUDP{}, []string{
			"-servers.address", "-servers.weight",
			"+name", "+namespace", "+port", "+weight", "+nativeLB", "+nodePortLB",
		}},
		"options": {dynamic.TLSOptions{}, v1alpha1.TLSOptionSpec{}, []string{
			"-clientAuth.caFiles", "-clientAuth.crlFiles", "+clientAuth.secretNames",
			"-entryPoints", // The default options of a listener must not be decided by every author of an object.
		}},
		"store": {dynamic.TLSStore{}, v1alpha1.TLSStoreSpec{}, []string{
			"-defaultCertificate.certFile", "-defaultCertificate.keyFile", "+defaultCertificate.secretName",
			"+certificates.secretName",
		}},
		"balancer": {dynamic.ServersLoadBalancer{}, v1alpha1.LoadBalancerSpec{}, []string{
			"-servers.url", "-servers.weight", "-servers.preservePath",
			"+name", "+namespace", "+kind", "+port", "+scheme", "+weight", "+middlewares", "+nativeLB", "+nodePortLB",
		}},
		"canary":           {dynamic.Canary{}, v1alpha1.Canary{}, nil},
		"directResponse":   {dynamic.DirectResponse{}, v1alpha1.DirectResponse{}, nil},
		"failover":         {dynamic.FailoverErrors{}, v1alpha1.FailoverErrors{}, nil},
		"environmentAlias": {dynamic.EnvironmentAlias{}, v1alpha1.EnvironmentAlias{}, nil},
		"route":            {dynamic.RouterObservability{}, v1alpha1.Observability{}, nil},
	}
	for name, test := range tests {
		inFile, inManifest := map[string]bool{}, map[string]bool{}
		options(inFile, "", reflect.TypeOf(test.file))
		options(inManifest, "", reflect.TypeOf(test.manifest))
		want, got := map[string]bool{}, map[string]bool{}
		for _, difference := range test.differences {
			want[difference] = true
		}
		for option := range inFile {
			if !inManifest[option] {
				got["-"+option] = true
			}
		}
		for option := range inManifest {
			if !inFile[option] {
				got["+"+option] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-expected +found):\n%s", name, diff)
		}
	}
}
