package input

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// writings are ways of writing the secret into a field, right or wrong.
func writings(holds string) []string {
	texts := []string{
		"-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\n", "-----BEGIN CERTIFICATE-----\n" + secret,
		secret + "\n" + secret, `{"keys": [{"kty": "oct", "k": "` + secret + `"}]}`,
	}
	if holds == keyed {
		return texts
	}
	texts = append(texts, "admin:"+secret, "admin:traefik:"+secret, "admin:$2y$10$"+secret)
	if holds == listed {
		return texts
	}
	texts = append(texts,
		secret, " "+secret, secret+"\x01", secret+"{", "("+secret, "http://user:"+secret+"@127.0.0.1:1/?token="+secret,
		"http://user:"+secret+"@127.0.0.1:99999/", "https://user:"+secret+"@[::1", "ftp://"+secret+"@a.test/", "//"+secret+
			"@/%zz",
		"redis://:"+secret+"@127.0.0.1:6379/0", "/check?token="+secret+" x", "/check?token="+secret+"#%",
	)
	if holds == located {
		return slices.DeleteFunc(texts, func(text string) bool { return !strings.Contains(text, "://") })
	}
	return texts
}

// misplacements put the text for a field into its place in a file, alone or among its neighbours.
func misplacements() []func(text string) map[string]any {
	const field = "" // Stands for the field that is planted.
	return []func(text string) map[string]any{
		func(text string) map[string]any { return map[string]any{field: text} },
		func(text string) map[string]any { return map[string]any{field: text, "misspelt": "x"} },
		func(text string) map[string]any { return map[string]any{field: []any{text}} },
		func(text string) map[string]any { return map[string]any{field: []any{[]any{text}}} },
		func(text string) map[string]any { return map[string]any{field: map[string]any{"a": text}} },
		func(text string) map[string]any { return map[string]any{field: map[string]any{"a": []any{text}}} },
		func(text string) map[string]any { return map[string]any{field: map[string]any{key(text): "x"}} },
		func(text string) map[string]any { return map[string]any{field: []any{map[string]any{key(text): "x"}}} },
		func(text string) map[string]any { return map[string]any{key(text): nil} },
	}
}

// key returns a text for the place of a key. A name is shown there, for it may be a misspelt one.
func key(text string) string {
	if text == secret {
		return "user:" + text
	}
	return text
}

// broken returns a configuration with an object for each field that may hold a secret, each text and each misplacement,
// in order of their names, and a router that each of them disables.
func broken() string {
	b := builder{}
	known := fields()
	for _, path := range slices.Sorted(maps.Keys(known)) {
		if !mayHold(known[path]) {
			continue
		}
		for _, text := range writings(known[path]) {
			for _, misplaced := range misplacements() {
				b.plant(path, misplaced(text))
			}
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"http": map[string]any{
			"routers": b.routers, "services": b.services, "middlewares": b.middlewares,
			"serversTransports": b.transports,
		},
		"tcp": map[string]any{
			"routers": b.tcpRouters, "services": b.tcpServices, "serversTransports": b.tcpTransports,
		},
		"udp": map[string]any{"routers": b.udpRouters, "services": b.udpServices},
		"tls": map[string]any{"certificates": b.certificates, "options": b.options, "stores": b.stores},
	}, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// builder collects objects.
type builder struct {
	routers, services, middlewares, transports, options, stores map[string]any
	tcpRouters, tcpServices, tcpTransports                      map[string]any
	udpRouters, udpServices                                     map[string]any
	certificates                                                []any
}

// plant adds an object with the fields around one, and something that uses it.
func (b *builder) plant(path string, around map[string]any) {
	name := fmt.Sprint("o", len(b.routers))
	router := map[string]any{"rule": "Host(`" + name + ".test`)", "service": "fine"}
	add(&b.routers, name, router)
	if b.services == nil {
		add(&b.services, "fine", service(map[string]any{}))
	}
	switch object, rest, _ := strings.Cut(path, "."); {
	case strings.HasPrefix(path, "http.middlewares{}."):
		router["middlewares"] = []any{name}
		add(&b.middlewares, name, planted(path, "http.middlewares{}.", around))
	case strings.HasPrefix(path, "http.services{}."):
		router["service"] = name
		add(&b.services, name, planted(path, "http.services{}.", around))
	case strings.HasPrefix(path, "http.serversTransports{}."):
		router["service"] = name
		add(&b.services, name, service(map[string]any{"serversTransport": name}))
		add(&b.transports, name, planted(path, "http.serversTransports{}.", around))
	case strings.HasPrefix(path, "tcp.services{}."):
		add(&b.tcpRouters, name, tcpRouter(name))
		add(&b.tcpServices, name, planted(path, "tcp.services{}.", around))
	case strings.HasPrefix(path, "tcp.serversTransports{}."):
		add(&b.tcpRouters, name, tcpRouter(name))
		add(&b.tcpServices, name, map[string]any{"loadBalancer": map[string]any{
			"serversTransport": name, "servers": []any{map[string]any{"address": "127.0.0.1:1", "tls": true}},
		}})
		add(&b.tcpTransports, name, planted(path, "tcp.serversTransports{}.", around))
	case strings.HasPrefix(path, "udp.services{}."):
		add(&b.udpRouters, name, map[string]any{"service": name})
		add(&b.udpServices, name, planted(path, "udp.services{}.", around))
	case strings.HasPrefix(path, "tls.options{}."):
		router["tls"] = map[string]any{"options": name}
		add(&b.options, name, planted(path, "tls.options{}.", around))
	case strings.HasPrefix(path, "tls.stores{}."):
		add(&b.stores, name, planted(path, "tls.stores{}.", around))
	case strings.HasPrefix(path, "tls.certificates[]."):
		b.certificates = append(b.certificates, planted(path, "tls.certificates[].", around))
	default:
		panic("no value is planted for " + object + rest)
	}
}

func tcpRouter(name string) any {
	return map[string]any{"rule": "HostSNI(`" + name + ".test`)", "service": name, "tls": map[string]any{}}
}

func add(into *map[string]any, name string, object any) {
	if *into == nil {
		*into = map[string]any{}
	}
	(*into)[name] = object
}

func service(options map[string]any) any {
	options["servers"] = []any{map[string]any{"url": "http://127.0.0.1:1"}}
	return map[string]any{"loadBalancer": options}
}

// planted returns an object whose field at the end of a path is planted.
func planted(path, prefix string, around map[string]any) any {
	steps := strings.Split(strings.TrimPrefix(path, prefix), ".")
	last := strings.TrimRight(steps[len(steps)-1], "[]{}")
	fields := map[string]any{}
	for name, value := range around {
		if name == "" {
			name = last
		}
		fields[name] = value
	}
	var object any = fields
	for _, step := range slices.Backward(steps[:len(steps)-1]) {
		if name, list := strings.CutSuffix(step, "[]"); list {
			object, step = []any{object}, name
		}
		object = map[string]any{step: object}
	}
	return object
}

// TestBrokenDefinitionsKeepTheirSecrets plants the secret in every field that may hold one, in every wrong way.
func TestBrokenDefinitionsKeepTheirSecrets(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Setup{
		Static: asking, Dynamic: map[string]string{"broken.yaml": broken()}, NotReady: true,
		Args: []string{"--log.level=DEBUG"},
	})
	said := commands(t, s, "GET", "http://o0.test/")
	if n := strings.Count(said["check"], "\n"); n < 1000 {
		t.Errorf("check finds %d mistakes only:\n%s", n, said["check"])
	}
	s.Until("the verdicts", func(r harness.Readiness) bool { return r.Quarantined > 1000 })
	maps.Copy(said, everything(t, s, "url=http://o0.test/", false))
	s.Stop()
	said["log"] = s.Log.String()
	search(t, said, secret)
}

// commands runs the commands on a configuration and returns their output.
func commands(t *testing.T, s *harness.Sluice, question ...string) map[string]string {
	t.Helper()
	config := "--configFile=" + s.Dir + "/sluice.yaml"
	said := map[string]string{}
	for name, args := range map[string][]string{
		"check":        {"check", config},
		"explain":      append([]string{"explain", config}, question...),
		"explain json": append([]string{"explain", config, "--json"}, question...),
		"routes":       {"routes", config},
		"routes json":  {"routes", config, "--json"},
	} {
		result := harness.Run(t, s.Dir, nil, args...)
		said[name] = result.Stdout + result.Stderr
	}
	return said
}

// search looks for secrets in output: also half of one, and other encodings.
func search(t *testing.T, said map[string]string, secrets ...string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(said)) {
		reported := 0
		for _, secret := range secrets {
			for _, form := range forms(secret) {
				if !strings.Contains(said[name], form) {
					continue
				}
				for line := range strings.Lines(said[name]) {
					if at := strings.Index(line, form); at >= 0 && reported < 20 {
						reported++
						t.Errorf("%s prints %q as %q: %.600s", name, secret, form, line[max(0, at-200):])
					}
				}
				break
			}
		}
	}
}

// forms returns what to search for: half of a secret, and the whole in the encodings of headers, URLs and JSON. Base64
// depends on the preceding bytes.
func forms(secret string) []string {
	found := []string{
		secret[:len(secret)/2], url.QueryEscape(secret), url.PathEscape(secret), fmt.Sprintf("%x", secret),
		fmt.Sprintf("%X", secret),
	}
	for before := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString(append(make([]byte, before), secret...))
			found = append(found, encoded[(before*8+5)/6:(before+len(secret))*8/6])
		}
	}
	return found
}
