package main

import "fmt"

// place says in which builds a provider is.
type place int

const (
	// linked is in every build.
	linked place = iota
	// tagged is in builds with the tag alone, because it needs large libraries.
	tagged
	// unavailable is in no build, because a module that it needs could not be downloaded.
	unavailable
)

// tag is the build tag of the tagged providers.
const tag = "sluice_dns_all"

// large lists the tagged providers. docs/performance/unreleased/certificates.md has what each adds to the binary.
func large() []string {
	return []string{
		"azuredns",
		"baiducloud",
		"bindman",
		"designate",
		"dnsupdate",
		"exoscale",
		"gcloud",
		"ibmcloud",
		"iijdpf",
		"infoblox",
		"inwx",
		"jdcloud",
		"lightsail",
		"linode",
		"liquidweb",
		"namesilo",
		"ns1",
		"scaleway",
		"selectelv2",
		"vinyldns",
		"vkcloud",
		"volcengine",
		"vultr",
	}
}

// missing lists the unavailable providers, each with the module.
func missing() map[string]string {
	return map[string]string{
		"alidns":       "github.com/go-acme/alidns-20150109/v5",
		"aliesa":       "github.com/go-acme/esa-20240910/v3",
		"azion":        "github.com/aziontech/azionapi-go-sdk",
		"dnsimple":     "github.com/dnsimple/dnsimple-go/v9",
		"edgedns":      "github.com/akamai/AkamaiOPEN-edgegrid-golang/v13",
		"edgeone":      "github.com/go-acme/tencentedgdeone",
		"huaweicloud":  "github.com/huaweicloud/huaweicloud-sdk-go-v3",
		"oraclecloud":  "github.com/nrdcg/oci-go-sdk/dns/v1065",
		"regfish":      "github.com/regfish/regfish-dnsapi-go",
		"sakuracloud":  "github.com/sacloud/sacloud-sdk-go",
		"tencentcloud": "github.com/go-acme/tencentclouddnspod",
		"ucloud":       "github.com/ucloud/ucloud-sdk-go",
		"yandexcloud":  "github.com/yandex-cloud/go-sdk/services/dns",
	}
}

// assign says of each provider in which builds it is. Every name in the tables must be a provider.
func assign(providers []provider) error {
	places := map[string]place{}
	for _, name := range large() {
		places[name] = tagged
	}
	for name := range missing() {
		places[name] = unavailable
	}
	for i, one := range providers {
		providers[i].where = places[one.name]
		providers[i].module = missing()[one.name]
		delete(places, one.name)
	}
	for name := range places {
		return fmt.Errorf("the tables name %s, which lego does not have", name)
	}
	return nil
}
