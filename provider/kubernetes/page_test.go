package kubernetes

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

// gatewayPage is the page about the Gateway API, in sections.
type gatewayPage map[string]string

func readGatewayPage(t *testing.T) gatewayPage {
	t.Helper()
	page := gatewayPage{}
	for section := range strings.SplitSeq(readText(t, "../../docs/gateway-api.md"), "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		page[title] = text
	}
	return page
}

// manifests returns the manifests of a section of which the kind is wanted, or those of all other kinds.
func (p gatewayPage) manifests(t *testing.T, section string, wanted bool, kinds ...string) string {
	t.Helper()
	var found []string
	for _, block := range regexp.MustCompile("(?ms)^```yaml other\n(.*?)^```$").FindAllStringSubmatch(p[section], -1) {
		for text := range strings.SplitSeq(block[1], "---\n") {
			kind := regexp.MustCompile(`(?m)^kind: (\w+)$`).FindStringSubmatch(text)
			if kind == nil {
				t.Fatalf("section %s: this has no kind:\n%s", section, text)
			}
			listed := false
			for _, one := range kinds {
				listed = listed || one == kind[1]
			}
			if listed == wanted {
				found = append(found, text)
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("section %s has no such manifests", section)
	}
	return strings.Join(found, "---\n")
}

// made returns what the commands of the first section make: the Services that they expose and the Secrets.
func (p gatewayPage) made(t *testing.T) string {
	t.Helper()
	commands := p["From zero"]
	var all []string
	services := regexp.MustCompile(`(?m)^kubectl expose deployment (\S+) -n (\S+) --port=(\d+)$`)
	for _, service := range services.FindAllStringSubmatch(commands, -1) {
		port, err := strconv.Atoi(service[3])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, serviceFor(service[2], service[1], port))
	}
	host := regexp.MustCompile(`subjectAltName=DNS:([^,']+)`).FindStringSubmatch(commands)
	secret := regexp.MustCompile(`(?m)^kubectl create secret tls (\S+) -n (\S+) `).FindStringSubmatch(commands)
	if len(all) == 0 || host == nil || secret == nil {
		t.Fatalf("the page makes %d Services, a certificate for %q and the Secret %q", len(all), host, secret)
	}
	return strings.Join(append(all, secretFor(t, secret[2], secret[1], host[1])), "---\n")
}

// TestGatewayPageFromZero proves that what the page about the Gateway API shows first works as it stands: the route is
// accepted, everything that it refers to is there, and both listeners serve it.
func TestGatewayPageFromZero(t *testing.T) {
	page := readGatewayPage(t)
	shown := worldOf(t, static.KubernetesIngress{}, page.made(t), page.manifests(t, "From zero", false))
	shown.sound(t)
	if found := shown.routes(t); found != 1 {
		t.Errorf("there are %d routes, want 1", found)
	}
	for _, url := range []string{"http://shop.example.com/", "https://shop.example.com/a"} {
		if got := shown.answer(t, "", url, nil); got != "shop/shop:80" {
			t.Errorf("%s: %q answers", url, got)
		}
	}
}

// TestGatewayPageFromIngress proves that the Ingress on the page and what it is converted to give the same answers.
func TestGatewayPageFromIngress(t *testing.T) {
	page := readGatewayPage(t)
	made := page.made(t) + "---\n" + serviceFor("shop", "cart", 80)
	const section = "From Ingress"
	before := worldOf(t, static.KubernetesIngress{IngressClass: "nginx", DisableIngressClassLookup: true}, made,
		page.manifests(t, section, true, "Ingress"))
	after := worldOf(t, static.KubernetesIngress{}, made, page.manifests(t, section, false, "Ingress"))
	sameAnswers(t, before, after, map[string]string{
		"http://shop.example.com/": "shop/shop:80", "http://shop.example.com/cart/1": "shop/cart:80",
		"https://shop.example.com/": "shop/shop:80", "https://shop.example.com/cart": "shop/cart:80",
	})
}

// TestGatewayPageFromIngressRoute does the same for the IngressRoute.
func TestGatewayPageFromIngressRoute(t *testing.T) {
	page := readGatewayPage(t)
	made := page.made(t) + "---\n" + serviceFor("shop", "cart", 80) + "---\n" + serviceFor("shop", "shop-next", 80)
	const section = "From IngressRoute"
	before := worldOf(t, static.KubernetesIngress{}, made, page.manifests(t, section, false, "HTTPRoute"))
	after := worldOf(t, static.KubernetesIngress{}, made, page.manifests(t, "From zero", false, "HTTPRoute"),
		page.manifests(t, section, false, "IngressRoute"))
	sameAnswers(t, before, after, map[string]string{
		"https://shop.example.com/":       "shop/shop-next:80*1 shop/shop:80*9",
		"https://shop.example.com/cart/1": "shop-limit@kubernetescrd: shop/cart:80",
	})
}

// sameAnswers fails where one of two worlds gives another answer, or where anything in them does not work.
func sameAnswers(t *testing.T, before, after *world, want map[string]string) {
	t.Helper()
	before.sound(t)
	after.sound(t)
	if found := after.routes(t); found != 1 {
		t.Errorf("there are %d routes, want 1", found)
	}
	for url, answer := range want {
		entrypoint := "web"
		if strings.HasPrefix(url, "https") {
			entrypoint = "websecure"
		}
		if got := before.answer(t, entrypoint, url, nil); got != answer {
			t.Errorf("%s: %q answers before, want %q", url, got, answer)
		}
		if got := after.answer(t, "", url, nil); got != answer {
			t.Errorf("%s: %q answers after, want %q", url, got, answer)
		}
	}
}
