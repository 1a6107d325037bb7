package static

import (
	"cmp"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// fillText sets every text below a value, with one element in each list and each map, and returns the paths of the
// texts whose options have names that sound like a secret or an address, and no tag.
func fillText(value reflect.Value, path, text, tag string, suspicious *regexp.Regexp) []string {
	switch value.Kind() {
	case reflect.String:
		value.SetString(text)
		if suspicious.MatchString(path[strings.LastIndexByte(path, '.')+1:]) && tag == "" {
			return []string{path}
		}
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		return fillText(value.Elem(), path, text, tag, suspicious)
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		return fillText(value.Index(0), path, text, tag, suspicious)
	case reflect.Map:
		element := reflect.New(value.Type().Elem()).Elem()
		found := fillText(element, path, text, tag, suspicious)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("name"), element)
		return found
	case reflect.Struct:
		var found []string
		for field := range value.Type().Fields() {
			if !field.IsExported() {
				continue
			}
			inner := strings.TrimPrefix(path+"."+field.Tag.Get("json"), ".")
			found = append(found, fillText(value.FieldByIndex(field.Index), inner, text, cmp.Or(field.Tag.Get("secret"), tag),
				suspicious)...)
		}
		return found
	}
	return nil
}

// openOptions are the options whose names sound like a secret and that hold none.
func openOptions() map[string]bool {
	return map[string]bool{
		"entryPoints.address":                                           true, // Clients see the address.
		"xds.address":                                                   true, // Likewise.
		"injector.address":                                              true,
		"inspector.address":                                             true,
		"injector.statusAddress":                                        true,
		"injector.secret":                                               true, // The name of a Secret.
		"providers.xds.address":                                         true,
		"certificatesResolvers.acme.keyType":                            true,
		"tracing.capturedRequestHeaders":                                true,
		"tracing.capturedResponseHeaders":                               true,
		"entryPoints.http.underscoreHeadersStrategy":                    true,
		"providers.kubernetesIngressNGINX.defaultSSLCertificate":        true, // the name of a Secret
		"providers.kubernetesIngressNGINX.globalAllowedResponseHeaders": true,
		"providers.kubernetesIngressNGINX.publishStatusAddress":         true,
		"providers.kubernetesGateway.addressPool":                       true,
		"entryPoints.http.tls.certResolver":                             true,
		"metrics.prometheus.headerLabels":                               true,
		"providers.consul.rootKey":                                      true,
		"providers.etcd.rootKey":                                        true,
		"providers.zooKeeper.rootKey":                                   true,
		"providers.redis.rootKey":                                       true,
	}
}

// TestOptionsThatSoundLikeASecretAreHidden demands that an option whose name sounds like a secret says by a tag what
// it may hold, or here that it holds none.
func TestOptionsThatSoundLikeASecretAreHidden(t *testing.T) {
	suspicious := regexp.MustCompile(`(?i)token|pass|secret|user|key|auth|cred|header|hmac|kid|email|cert|cas?$|endpoint|address|addr|url|server$`)
	known, found := openOptions(), map[string]bool{}
	var config Configuration
	for _, path := range fillText(reflect.ValueOf(&config).Elem(), "", "x", "", suspicious) {
		found[path] = true
		if !known[path] {
			t.Errorf("%s sounds like a secret: give it the tag secret, or say in openOptions() that it holds none", path)
		}
	}
	for path := range known {
		if !found[path] {
			t.Errorf("there is no open option %s", path)
		}
	}
}

func TestRedacted(t *testing.T) {
	const secret = "s3cr3tOfTheOperator"
	for _, text := range []string{
		secret + ":" + secret, "http://user:" + secret + "@a.test/?" + secret, "-----BEGIN PRIVATE KEY-----\n" + secret,
		"/x?token=" + secret,
	} {
		var config Configuration
		fillText(reflect.ValueOf(&config).Elem(), "", text, "", regexp.MustCompile(`^$`))
		redacted := Redacted(&config)
		for path, shown := range map[string]string{
			"consul.token": redacted.Providers.Consul.Token, "redis.password": redacted.Providers.Redis.Password,
			"docker.endpoint": redacted.Providers.Docker.Endpoint,
			"docker.password": redacted.Providers.Docker.Password, "http.headers": redacted.Providers.HTTP.Headers["name"],
			"http.endpoint": redacted.Providers.HTTP.Endpoint, "otlp.headers": redacted.Tracing.OTLP.GRPC.Headers["name"],
			"otlp.endpoint": redacted.Metrics.OTLP.HTTP.Endpoint, "tls.key": redacted.Log.OTLP.GRPC.TLS.Key,
			"crd.token": redacted.Providers.KubernetesCRD.Token,
			"ecs":       redacted.Providers.ECS.SecretAccessKey, "influx": redacted.Metrics.InfluxDB2.Token,
			"eab":     redacted.CertificatesResolvers["name"].ACME.EAB.HmacEncoded,
			"rootCAs": redacted.ServersTransport.RootCAs[0], "tcp": redacted.TCPServersTransport.TLS.RootCAs[0],
			"nomad": redacted.Providers.Nomad.Endpoint.Token,
		} {
			if strings.Contains(shown, secret) {
				t.Errorf("%s shows %q", path, shown)
			}
		}
		if config.Providers.Consul.Token != text {
			t.Error("the original has changed")
		}
		if name := redacted.API.DashboardName; name != text {
			t.Errorf("an open option shows %q", name)
		}
	}
}
