package nginx_test

import (
	"crypto/tls"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
	"github.com/sluiceproxy/sluice/integration/nginx/render"
	"github.com/sluiceproxy/sluice/migrate/process"
	"github.com/sluiceproxy/sluice/static"
)

// TestSluice sends the requests of all cases to Sluice. Each answer is that of ingress-nginx, or differs as a line of
// testdata/sluice.tsv says.
func TestSluice(t *testing.T) {
	own, others := newAuthority(t, "authority"), newAuthority(t, foreign)
	expected := differencesOf(t)
	answered := map[string]bool{}
	var starting, counting sync.Mutex
	for group, all := range groups(t) {
		t.Run(group, func(t *testing.T) {
			for _, c := range all {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					bench := newSluice(t, own, others, &starting, c)
					complaints := bench.complaints(t, c)
					counting.Lock()
					rows := expected[c.String()]
					delete(expected, c.String())
					counting.Unlock()
					for _, complaint := range complaints {
						if !slices.ContainsFunc(rows, func(row *expectation) bool { return row.match(complaint) }) {
							t.Error(complaint)
						}
					}
					for _, row := range rows {
						if !row.used {
							t.Errorf("testdata/sluice.tsv expects %s, which does not occur", row.pattern)
						}
					}
					if t.Failed() {
						return
					}
					counting.Lock()
					defer counting.Unlock()
					for _, test := range c.Tests {
						answered[test] = len(complaints) == 0
					}
				})
			}
		})
	}
	same := 0
	for _, whole := range answered {
		if whole {
			same++
		}
	}
	t.Logf("of %d end-to-end tests of ingress-nginx, Sluice answers %d without a difference", len(answered), same)
	if len(answered) < 250 {
		t.Errorf("only %d end-to-end tests of ingress-nginx have a case in which Sluice answers as is expected", len(answered))
	}
}

// expectation is a difference of the answers to a case.
type expectation struct {
	pattern *regexp.Regexp
	used    bool
}

func (e *expectation) match(complaint string) bool {
	found := e.pattern.MatchString(complaint)
	e.used = e.used || found
	return found
}

// differencesOf returns the expected differences by case.
func differencesOf(t *testing.T) map[string][]*expectation {
	t.Helper()
	found := map[string][]*expectation{}
	for _, fields := range table(t, "testdata/sluice.tsv", 3) {
		pattern, err := regexp.Compile(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		found[fields[0]] = append(found[fields[0]], &expectation{pattern: pattern})
	}
	return found
}

// newSluice starts a Sluice for each state of a case. States that differ only in the answers of servers share one.
func newSluice(t *testing.T, own, others *authority, starting *sync.Mutex, c *cases.Case) *bench {
	t.Helper()
	b := &bench{
		own: own, client: &client{own: own, others: others, t: t}, backends: &backends{traces: map[string]*trace{}},
	}
	processes := map[*cases.State]*process.Process{}
	var last *cases.State
	taken := 0
	for i := range c.Stages {
		state := &c.Stages[i].State
		if last != nil && same(last, state) {
			processes[state] = processes[last]
			continue
		}
		options := optionsOf(t, own, state)
		options.Handler = b.backends.of(state)
		if last != nil && empty(last) {
			taken += 64 // What comes back has other addresses.
		}
		options.Taken = taken
		starting.Lock()
		p, err := process.Start(t.Context(), options)
		starting.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		processes[state], last = p, state
	}
	b.address = func(state *cases.State, kind string) string {
		return processes[state].Address(map[string]string{"http": "http", "h2c": "http", "https": "https"}[kind]).String()
	}
	return b
}

// empty reports whether a Service of a state has no endpoint.
func empty(state *cases.State) bool {
	for _, server := range state.Servers {
		if server.Endpoints == 0 {
			return true
		}
	}
	return false
}

// of returns what answers for the servers of a state, as it does behind nginx.
func (b *backends) of(state *cases.State) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := process.EndpointOf(r)
		service := at.Service
		for _, one := range state.Objects.Services {
			name := strings.TrimSuffix(one.Spec.ExternalName, ".")
			if service == "" && name != "" && name == strings.TrimSuffix(at.Host, ".") && !at.Authorizes {
				service = one.Namespace + "/" + one.Name
			}
		}
		if service != "" {
			r.Header.Set(render.FieldService, service)
		} else {
			r.Header.Set(render.FieldOutside, at.Host)
		}
		b.ServeHTTP(w, r)
	})
}

// optionsOf returns the options of a state.
func optionsOf(t *testing.T, own *authority, state *cases.State) process.Options {
	t.Helper()
	options := process.Options{
		Objects: objectsOf(t, state), Secrets: secretsOf(t, own, state),
		Provider: providerOf(state), EntryPoint: entryPointOf(state.Settings),
		Resolves: func(name string) bool { return name != "invalid.hostname" },
	}
	options.Objects.Namespaces = state.Objects.Namespaces
	presented := own.issue(t, "upstream")
	options.Certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &presented, nil }
	options.Objects.ConfigMaps = append(options.Objects.ConfigMaps, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ingress-nginx", Name: "controller"}, Data: state.Settings,
	})
	return options
}

// secretsOf returns the Secrets of a state.
func secretsOf(t *testing.T, own *authority, state *cases.State) []*corev1.Secret {
	t.Helper()
	all := slices.Clone(state.Objects.Secrets)
	contents := own.secrets(t, state.Certificates)
	for _, one := range state.Certificates {
		content := contents[one.Namespace+"/"+one.Name]
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: one.Namespace, Name: one.Name}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{
				corev1.TLSCertKey: []byte(content.Certificate), corev1.TLSPrivateKeyKey: []byte(content.Certificate),
			},
		}
		if content.Authority != "" {
			secret.Data["ca.crt"] = []byte(content.Authority)
		}
		if one.Broken {
			secret.Data = nil
		}
		all = append(all, secret)
	}
	return all
}

// providerOf returns the options of the provider for the flags of the controller.
func providerOf(state *cases.State) (config static.KubernetesNGINX) {
	config.SetDefaults()
	config.ConfigMap = "ingress-nginx/controller"
	for _, flag := range state.Flags {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "--ingress-class":
			config.IngressClass = value
		case "--controller-class":
			config.ControllerClass = value
		case "--ingress-class-by-name":
			config.IngressClassByName = true
		case "--watch-ingress-without-class":
			config.WatchIngressWithoutClass = true
		case "--watch-namespace-selector":
			config.WatchNamespaceSelector = value
		case "--disable-catch-all":
			config.DisableCatchAll = value == "true"
		case "--disable-svc-external-name":
			config.DisableSvcExternalName = value == "true"
		case "--default-backend-service":
			config.DefaultBackendService = value
		case "--default-ssl-certificate":
			config.DefaultSSLCertificate = value
		case "--enable-ssl-passthrough":
			config.EnableSSLPassthrough = true
		}
	}
	return config
}

// entryPointOf returns the options of the entrypoints that have the effect of keys of the ConfigMap which are no
// options of the provider, and that leave paths as nginx does.
func entryPointOf(settings map[string]string) *static.EntryPoint {
	made := new(static.EntryPoint)
	made.SetDefaults()
	made.HTTP.SanitizePath, made.HTTP.AllowParameterSegments = false, true
	made.HTTP.UnderscoreHeadersStrategy = static.UnderscoreDelete
	is := func(key string) bool {
		value, err := strconv.ParseBool(settings[key])
		return err == nil && value
	}
	if is("enable-underscores-in-headers") {
		made.HTTP.UnderscoreHeadersStrategy = static.UnderscoreKeep
	}
	made.ForwardedHeaders.Insecure = is("use-forwarded-headers") || is("enable-real-ip")
	return made
}
