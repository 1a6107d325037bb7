package input

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// secret is planted in every place for a secret.
const secret = "s3cr3tOfTheOperator"

// besideSecrets is a configuration whose every mistake is next to a secret.
const besideSecrets = `
http:
  routers:
    auth: {rule: "Host(` + "`auth.test`" + `)", middlewares: [basic, digest, header, text, misspelt], service: fine}
    url: {rule: "Host(` + "`url.test`" + `)", service: url}
  services:
    fine: {loadBalancer: {servers: [{url: "http://user:` + secret + `@127.0.0.1:1"}]}}
    url: {loadBalancer: {servers: [{url: "http://user:` + secret + `@127.0.0.1:99999"}]}}
    host: {loadBalancer: {servers: [{url: "http://user:` + secret + `@[::1"}]}}
    scheme: {loadBalancer: {servers: [{url: "user:` + secret + `@127.0.0.1"}]}}
    none: {loadBalancer: {servers: [{url: "http://user:` + secret + `@"}]}}
    cookie: {loadBalancer: {sticky: {cookie: {name: "` + secret + `", sameSite: "` + secret +
	`"}}, servers: [{url: "http://127.0.0.1:1"}]}}
  middlewares:
    basic: {basicAuth: {users: ["admin:` + secret + `"]}}
    digest: {digestAuth: {users: "admin:realm:` + secret + `", usersFiel: x}}
    header: {headers: {customRequestHeaders: "Bearer ` + secret + `"}}
    text: {headers: {customRequestHeaders: {Authorization: {Bearer: ` + secret + `}}}}
    misspelt: {basicAuth: {usres: ["admin:` + secret + `"]}}
    plugin: {plugin: {demo: {token: ` + secret + `}}}
    redis: {rateLimit: {average: "often", redis: {password: ` + secret + `, db: x}}}
tls:
  certificates:
    - certFile: |
        -----BEGIN CERTIFICATE-----
        ` + secret + `
        -----END CERTIFICATE-----
      keyFile: |
        -----BEGIN PRIVATE KEY-----
        ` + secret + `
        -----END PRIVATE KEY-----
    - certFile: ${CERT}
      keyFile: |
        -----BEGIN PRIVATE KEY-----
        ` + secret + `
        -----END PRIVATE KEY-----
    - certFile: ${CERT}
      keyFile:
        - "-----BEGIN PRIVATE KEY----- ` + secret + `"
  stores:
    default: {defaultCertificate: {certFile: "-----BEGIN CERTIFICATE-----\n` + secret + `", keyFile: "` + secret +
	`\n"}}
`

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	setup := harness.Setup{
		Static: static, NotReady: true,
		Dynamic: map[string]string{
			"rest.yaml": rest, "secret.yaml": besideSecrets,
			// The output of a template may be logged; keys are removed from it.
			"template.yaml": "tls:\n  certificates:\n    - certFile: x{{ 1 }}\n      keyFile: |\n        -----BEGIN PRIVATE " +
				"KEY-----\n        " +
				secret + "\n        -----END PRIVATE KEY-----\n",
			"broken.yaml": "http:\n  middlewares:\n    basic: {basicAuth: {users: [\"admin:" + secret + "\"\n  x: [\n",
			"broken.toml": "[http.middlewares.basic.basicAuth]\nusers = [\"admin:" + secret + "\n",
			"value.toml":  "[http.middlewares.basic.basicAuth]\nusers = " + secret + "\n",
		},
		Vars: map[string]string{
			"BACKEND": backend(t, "backend"), "BELOW": backend(t, "below"),
			"CERT": harness.NewAuthority(t).Issue("x.test").CertFile,
		},
		Args: []string{"--log.level=DEBUG", "--providers.file.debugLogGeneratedTemplate=true"},
	}
	s := harness.Start(t, setup)
	config := "--configFile=" + s.Dir + "/sluice.yaml"
	said := map[string]string{}
	for name, args := range map[string][]string{
		"check":        {"check", config},
		"explain":      {"explain", config, "GET", "http://auth.test/"},
		"explain json": {"explain", config, "GET", "http://url.test/", "--json"},
		"routes":       {"routes", config},
		"routes json":  {"routes", config, "--json"},
	} {
		result := harness.Run(t, s.Dir, nil, args...)
		said[name] = result.Stdout + result.Stderr
	}
	if !strings.Contains(said["check"], "basic@file") || !strings.Contains(said["check"], "certificates[") {
		t.Errorf("check does not see what is to be hidden:\n%s", said["check"])
	}
	expected := strings.Count(said["check"], "\n")
	ready := s.Until("the findings of check", func(r harness.Readiness) bool { return len(r.Verdicts) >= expected })
	said["/ready"] = strings.Join(findings(ready), "\n")
	for _, host := range []string{"auth.test", "url.test", "rest.test"} {
		said["/"] += ask(t, s, host)
	}
	s.Stop()
	said["log"] = s.Log.String()
	if !strings.Contains(said["log"], "template generated") {
		t.Errorf("the generated template is not logged:\n%s", said["log"])
	}
	for name, text := range said {
		for line := range strings.Lines(text) {
			if strings.Contains(line, secret) {
				t.Errorf("%s prints a secret: %s", name, line)
			}
		}
	}
}

func TestSecretsOfTheStaticConfigurationAreNeverPrinted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/sluice.yaml", `
entryPoints:
  web: {address: "127.0.0.1:0"}
providers:
  redis: {endpoints: ["127.0.0.1:1"], password: `+secret+`, db: x}
  consul: {token: {value: `+secret+`}}
  etcd: {password:`+secret+`, user: x}
  http: {endpoint: "http://user:`+secret+`@127.0.0.1:1", headers: {Authorization: `+secret+`}}
metrics:
  influxDB2: {token: [`+secret+`]}
`)
	for _, args := range [][]string{
		{"check", "--configFile=sluice.yaml"},
		{"--configFile=sluice.yaml"},
		{
			"check", "--entryPoints.web.address=127.0.0.1:0", "--providers.redis.password=" + secret,
			"--providers.redis.passwrd=" + secret,
		},
		{
			"routes", "--entryPoints.web.address=127.0.0.1:0", "--providers.consul.token=" + secret,
			"--providers.consul.tokken=" + secret,
		},
	} {
		result := harness.Run(t, dir, []string{
			"SLUICE_PROVIDERS_REDIS_PASSWROD=" + secret,
			"SLUICE_PROVIDERS_ETCD_PASSWORD=" + secret,
		}, args...)
		if said := result.Stdout + result.Stderr; strings.Contains(said, secret) || said == "" || result.Code == 0 {
			t.Errorf("sluice %q: exit code %d:\n%s", args, result.Code, said)
		}
	}
}
