package input

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// slip is one common mistake in a file: the text of the file, and what the message has to say so that it can be fixed.
type slip struct{ name, text, fix string }

// routerFile returns a file with one router, given by the lines below its name. NAME is the name of the file.
func routerFile(lines ...string) string {
	return "http:\n  routers:\n    NAME:\n      " + strings.Join(lines, "\n      ") + "\n"
}

// serviceFile returns a file with one service, by what stands behind its name.
func serviceFile(value string) string { return "http:\n  services:\n    NAME: " + value + "\n" }

// balancerFile returns a file with one load balancer, by its options.
func balancerFile(options string) string { return serviceFile("{loadBalancer: {" + options + "}}") }

// middlewareFile returns a file with one middleware, by what stands behind its name.
func middlewareFile(value string) string { return "http:\n  middlewares:\n    NAME:" + value + "\n" }

// ruleFile returns a file with one router, by its rule as written.
func ruleFile(rule string) string { return routerFile("rule: "+rule, "service: shop") }

const soundRule = "rule: Host(`NAME.test`)"

// slips lists the mistakes. Those in the syntax of YAML come first.
func slips() []slip {
	list := []slip{
		{"tab", "http:\n\trouters: {}\n", "use spaces"},
		{"indentation", "http:\n  routers:\n    a:\n      rule: x\n     service: y\n", "indentation"},
		{"backtick-first", routerFile("rule: `Host`"), "begins with a backtick needs quotes"},
		{"at-sign-first", routerFile("service: @shop"), "needs quotes"},
		{"exclamation-mark-first", ruleFile("!Host(`a.test`)"), "rule: '!Host(`example.com`)'"},
		{"exclamation-mark-alone", ruleFile("! Host(`a.test`)"), "rule: '!Host(`example.com`)'"},
		{"asterisk-first", ruleFile("*.a.test"), "needs quotes"},
		{"ampersand-first", ruleFile("&& Host(`a.test`)"), "needs quotes"},
		{"list-on-the-line", routerFile("middlewares: - gzip"), "on the line after its key"},
		{"no-space-after-the-colon", routerFile("rule:Host(`a.test`)", "service: shop"), "a colon and a space"},
		{"after-the-quote", ruleFile("'Host(`a.test`)' && Path(`/`)"), "whole value in quotes"},
		{"open-quote", ruleFile("\"Host(`a.test`)"), "never closed"},
		{"open-bracket", routerFile("entryPoints: [web", soundRule, "service: shop"), "never closed"},
		{"colon-in-a-rule", ruleFile("Header(`X`, `a: b`)"), "needs quotes"},
		{"escape", ruleFile("\"HostRegexp(`^a\\.test$`)\""), "single quotes"},
		{"list-for-a-map", "- http\n", "expected a map"},

		{"option-of-a-router", routerFile(soundRule, "service: shop", "middelwares: []"), `did you mean "middlewares"?`},
		{"option-of-a-service", balancerFile("servrs: []"), `did you mean "servers"?`},
		{"option-of-a-middleware", middlewareFile(" {stripPrefix: {prefix: [/a]}}"), `did you mean "prefixes"?`},
		{"kind-of-a-middleware", middlewareFile(" {stripPrefx: {prefixes: [/a]}}"), `did you mean "stripPrefix"?`},
		{"kind-of-a-service", serviceFile("{loadbalancr: {}}"), `did you mean "loadBalancer"?`},
		{"section", "http:\n  router: {}\n", `did you mean "routers"?`},
		{"top-level", "htpp: {}\n", `did you mean "http"?`},
		{"text-for-a-list", balancerFile("servers: a"), "expected a list"},
		{"text-for-a-number", routerFile(soundRule, "service: shop", "priority: high"), "expected an integer"},
		{"empty-object", middlewareFile(""), "has no value"},
		{"empty-kind", middlewareFile("\n      compress:"), "compress: {}"},
		{"two-kinds", middlewareFile(" {compress: {}, addPrefix: {prefix: /a}}"), "exactly one"},

		{"servers-too-high", serviceFile("{servers: [{url: \"http://127.0.0.1:1\"}]}"), "it belongs in loadBalancer"},
		{"url-too-high", balancerFile("url: \"http://127.0.0.1:1\""), "it belongs in servers"},
		{"resolver-too-high", routerFile(soundRule, "service: shop", "certResolver: le"), "it belongs in tls"},
		{"service-too-low", routerFile(soundRule, "tls: {service: shop}"), "one level up"},
		{"no-name", "http:\n  services:\n    loadBalancer: {servers: []}\n", "put the name of a service above"},
		{"section-too-low", "http:\n  services:\n    middlewares: {gzip: {compress: {}}}\n", "like a section"},
		{"no-http", "routers: {}\n", "belongs in http"},
		{"certificates-too-high", "certificates: []\n", "belongs in tls"},
		{"tls-too-low", "http:\n  tls: {}\n", "top level"},
		{"frontends", "frontends: {}\n", "write http.routers"},
		{"backends", "backends: {}\n", "write http.services"},
	}
	return append(list, ofReferences()...)
}

// ofReferences lists the mistakes in rules, references and values.
func ofReferences() []slip {
	return []slip{
		{"service", routerFile(soundRule, "service: shpo"), `did you mean "shop@file"?`},
		{"service-of-another-provider", routerFile(soundRule, "service: shop@docker"), `did you mean "shop@file"?`},
		{"service-of-sluice", routerFile(soundRule, "service: ping"), `did you mean "ping@internal"?`},
		{"middleware", routerFile(soundRule, "service: shop", "middlewares: [gizp]"), `did you mean "gzip@file"?`},
		{"entrypoint", routerFile(soundRule, "service: shop", "entryPoints: [wbe]"), `did you mean "web"?`},
		{"entrypoint-unlike-any", routerFile(soundRule, "service: shop", "entryPoints: [outside]"), "configured are"},
		{
			"transport", balancerFile("serversTransport: mtsl, servers: [{url: \"http://127.0.0.1:1\"}]"),
			`did you mean "mtls@file"?`,
		},
		{"tls-options", routerFile(soundRule, "service: shop", "tls: {options: modren}"), `did you mean "modern@file"?`},

		{"single-quotes", ruleFile("\"Host('a.test')\""), "backticks or double quotes"},
		{"no-quotes", ruleFile("Host(a.test)"), "a string in backticks"},
		{"parenthesis", ruleFile("(Host(`a.test`)"), "never closed"},
		{"and", ruleFile("Host(`a.test`) and Path(`/`)"), "expected && or ||"},
		{"one-ampersand", ruleFile("Host(`a.test`) & Path(`/`)"), `did you mean "&&"?`},
		{"matcher", ruleFile("Hots(`a.test`)"), `did you mean "Host"?`},
		{"path-without-slash", ruleFile("PathPrefix(`api`)"), "does not begin with a slash"},
		{"port-in-a-host", ruleFile("Host(`a.test:80`)"), "without its port"},
		{"hosts-of-v2", ruleFile("Host(`a.test`, `b.test`)"), "Host(`a.test`) || Host(`b.test`)"},
		{"headers-of-v2", ruleFile("Headers(`X-A`, `b`)"), "Header(`X-A`, `b`)"},
		{"template-of-v2", ruleFile("PathPrefix(`/{id:[0-9]+}`)"), "PathRegexp(`^/[0-9]+`)"},
		{"rule-of-v1", ruleFile("\"Host:a.test;PathPrefixStrip:/x\""), "PathPrefix(`/x`), with the middleware stripPrefix"},

		{"url-without-scheme", balancerFile("servers: [{url: \"127.0.0.1:8080\"}]"), "write http://127.0.0.1:8080"},
		{"name-without-scheme", balancerFile("servers: [{url: \"shop:8080\"}]"), "write http://shop:8080"},
		{"no-service", routerFile(soundRule), "the service is missing"},
		{"no-rule", routerFile("service: shop"), "the rule is missing"},
		{"certificate", "tls:\n  certificates: [{certFile: absent.pem, keyFile: absent.key}]\n", "absent.pem"},
		{"twice", ruleFile("Path(`/a`)") + "    NAME: {rule: Path(`/b`), service: shop}\n", "first on line 3"},
		{"plugin", middlewareFile(" {plugin: {demo: {}}}"), "not supported yet"},
	}
}

// foundation is what the files of the mistakes refer to.
const foundation = `
http:
  services: {shop: {loadBalancer: {servers: [{url: "http://127.0.0.1:1"}]}}}
  middlewares: {gzip: {compress: {}}}
  serversTransports: {mtls: {}}
tls: {options: {modern: {minVersion: VersionTLS13}}}
`

// TestEveryMistakeNamesItsFix runs check once over a folder of mistakes, one in each file. The message about each file
// has to contain what is to be written.
func TestEveryMistakeNamesItsFix(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "dynamic")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "sluice.yaml"), strings.ReplaceAll(static, "${DYNAMIC}", folder))
	write(t, filepath.Join(folder, "foundation.yaml"), foundation)
	for _, one := range slips() {
		text := strings.ReplaceAll(one.text, "NAME", strings.ReplaceAll(one.name, "-", ""))
		write(t, filepath.Join(folder, one.name+".yaml"), text)
	}
	checked := harness.Run(t, dir, nil, "check", "--configFile=sluice.yaml")
	if checked.Code != 1 {
		t.Errorf("check: exit code %d, want 1; stderr %q", checked.Code, checked.Stderr)
	}
	var all strings.Builder
	for _, one := range slips() {
		said := saidOf(checked.Stdout, filepath.Join(folder, one.name+".yaml"))
		if !strings.Contains(said, one.fix) {
			t.Errorf("%s: got %q, want a message with %q", one.name, said, one.fix)
		}
		fmt.Fprintf(&all, "# %s\n%s", one.name, strings.ReplaceAll(said, folder+"/", ""))
	}
	golden(t, "mistakes.golden", all.String())
}

// saidOf returns the lines about one file.
func saidOf(text, file string) string {
	var said strings.Builder
	begin := regexp.MustCompile("^" + regexp.QuoteMeta(file) + `(:\d+)?: `)
	for line := range strings.Lines(text) {
		if begin.MatchString(line) {
			said.WriteString(line)
		}
	}
	return said.String()
}
