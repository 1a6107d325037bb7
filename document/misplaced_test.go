package document

import "testing"

// TestMisplacedKeys shows where a key belongs that a struct does not have: below it, or around it.
func TestMisplacedKeys(t *testing.T) {
	type server struct {
		URL string `json:"url"`
	}
	type cookie struct {
		Name string `json:"name"`
	}
	type balancer struct {
		Servers  []server `json:"servers"`
		Sticky   *cookie  `json:"sticky"`
		Strategy string   `json:"strategy"`
	}
	type service struct {
		LoadBalancer *balancer `json:"loadBalancer"`
		Timeout      string    `json:"timeout"`
	}
	for text, want := range map[string]string{
		"servers: []":                          "servers: unknown option here; it belongs in loadBalancer",
		"URL: x":                               "URL: unknown option here; it belongs in loadBalancer.servers",
		"loadBalancer: {url: x}":               "loadBalancer.url: unknown option here; it belongs in servers",
		"loadBalancer: {timeout: x}":           "loadBalancer.timeout: unknown option here; it belongs one level up",
		"loadBalancer: {sticky: {timeout: x}}": "loadBalancer.sticky.timeout: unknown option here; it belongs 2 levels up",
		"loadBalancer: {servers: [{strategy: x}]}": "loadBalancer.servers[0].strategy: unknown option here; " +
			"it belongs in loadBalancer",
		"loadBalancer: {servrs: []}": `loadBalancer.servrs: unknown option, did you mean "servers"?`,
		"nothing: x":                 "nothing: unknown option",
	} {
		node, err := Parse("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		problems := Decode(node, &service{})
		if len(problems) != 1 || problems[0].String() != want {
			t.Errorf("%s: got %v, want %s", text, problems, want)
		}
	}
}
