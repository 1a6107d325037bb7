package annotation

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"
	"github.com/sluiceproxy/sluice/static"
)

// Effect is what a key of the ConfigMap changes in Sluice.
type Effect int

// The effects of keys.
const (
	// Setting is read into Settings.
	Setting Effect = iota
	// Static is an option of the static configuration, which Note names.
	Static
	// Missing is not done, for the reason in Note.
	Missing
	// Idle changes no answer.
	Idle
	// Gone has no effect in ingress-nginx 1.15.
	Gone
)

// ConfigKey describes one key of the ConfigMap of ingress-nginx 1.15.1.
type ConfigKey struct {
	Name string
	// Default is the value without the key; empty for none, or one that is not shown.
	Default string
	Effect  Effect
	Note    string
}

// AllConfigKeys returns all keys of the ConfigMap, in the order of names.
func AllConfigKeys() []ConfigKey {
	all := slices.Concat(settingKeys(), staticKeys(), unsupportedKeys())
	for _, name := range idleKeys() {
		all = append(all, ConfigKey{Name: name, Effect: Idle, Note: "it changes no answer"})
	}
	for _, name := range retiredKeys() {
		all = append(all, ConfigKey{Name: name, Effect: Gone, Note: "ingress-nginx 1.15 does not read it"})
	}
	slices.SortFunc(all, func(a, b ConfigKey) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// ReadConfigMap reads the data of the ConfigMap in a namespace. There is one finding for each key, in the order of
// keys. A value that ingress-nginx does not accept leaves the default, unless that would open locations: Settings
// then says why they are denied.
func ReadConfigMap(namespace string, data map[string]string) (*Settings, []Finding) {
	read := &configReading{
		index: newIndex(), data: data, namespace: namespace, out: DefaultSettings(), findings: map[string]*Finding{},
	}
	for _, key := range AllConfigKeys() {
		read.take(key)
	}
	for key := range data {
		if read.findings[key] == nil {
			reason := "unknown key"
			if near, found := read.index.nearestConfigKey(key); found {
				reason += ", did you mean " + near + "?"
			}
			read.set(key, Ignored, reason)
		}
	}
	read.settings()
	findings := make([]Finding, 0, len(read.findings))
	for _, key := range slices.Sorted(maps.Keys(read.findings)) {
		findings = append(findings, *read.findings[key])
	}
	return read.out, findings
}

// configReading is the reading of one ConfigMap.
type configReading struct {
	index     *index
	data      map[string]string
	namespace string
	out       *Settings
	findings  map[string]*Finding
}

// take notes a key that is known.
func (c *configReading) take(key ConfigKey) {
	value, given := c.data[key.Name]
	if !given {
		return
	}
	switch {
	case len(value) > MostValue:
		c.set(key.Name, Unsupported, "the value has "+strconv.Itoa(len(value))+" bytes; more than "+
			strconv.Itoa(MostValue)+" are not read")
		if protecting(key.Name) {
			c.close(key.Name, "the value is too long")
		}
	case key.Effect == Setting:
		c.set(key.Name, Honoured, "")
	case value == key.Default && (key.Effect == Static || key.Effect == Missing):
		c.set(key.Name, Unused, "it is the default of ingress-nginx")
	case key.Effect == Static:
		c.set(key.Name, Unsupported, "it belongs to the static configuration: "+key.Note)
	case key.Effect == Missing:
		c.set(key.Name, Unsupported, key.Note)
	default:
		c.set(key.Name, Unused, key.Note)
	}
	c.snippet(key.Name, value)
}

// snippet judges a key with directives of nginx. Those of all locations deny them if they may protect something.
func (c *configReading) snippet(name, value string) {
	if !strings.HasSuffix(name, "-snippet") || name == "modsecurity-snippet" {
		return
	}
	reason, protects := snippet.GlobalProtects(value)
	if !protects {
		return
	}
	reason += ", and directives of nginx are not executed"
	c.set(name, Unsupported, reason)
	c.findings[name].Protects = true
	switch name {
	case "http-snippet", "server-snippet", "location-snippet":
		c.close(name, reason)
	}
}

// protecting reports whether locations would be open without a key.
func protecting(name string) bool {
	switch name {
	case "whitelist-source-range", "denylist-source-range", "block-cidrs", "block-user-agents", "block-referers",
		"enable-modsecurity":
		return true
	}
	return strings.HasPrefix(name, "global-auth-")
}

// set notes a verdict, unless there is a worse one.
func (c *configReading) set(key string, verdict Verdict, reason string) {
	found := c.findings[key]
	if found == nil {
		found = &Finding{Key: cut(key, mostKey), Protects: protecting(key)}
		c.findings[key] = found
	} else if found.Verdict > verdict {
		return
	}
	found.Verdict, found.Reason = verdict, cut(reason, mostReason)
}

// close notes that locations answer 503 because of a key: all of them, or those with external authentication.
func (c *configReading) close(key, reason string) {
	c.set(key, Denied, reason)
	into := &c.out.Closed
	if strings.HasPrefix(key, "global-auth-") {
		into = &c.out.GlobalAuthClosed
	}
	if *into == "" {
		*into = cut("ConfigMap key "+key+": "+reason, mostReason)
	}
}

// text returns a value that is short enough, without the spaces around it.
func (c *configReading) text(key string) (string, bool) {
	value, given := c.data[key]
	return strings.TrimSpace(value), given && len(value) <= MostValue
}

// useless notes that the default is used.
func (c *configReading) useless(key, value string) {
	c.set(key, Ignored, quote(value)+" is not accepted by ingress-nginx, which uses the default")
}

// flag reads a boolean.
func (c *configReading) flag(key string, into *bool) {
	text, given := c.text(key)
	if !given {
		return
	}
	if text == "" {
		*into = false // As ingress-nginx converts it.
		return
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		c.useless(key, text)
		return
	}
	*into = value
}

// number reads a whole number from 0.
func (c *configReading) number(key string, into *int) {
	text, given := c.text(key)
	if !given {
		return
	}
	value, err := strconv.ParseInt(text, 10, 32)
	if err != nil || value < 0 {
		c.useless(key, text)
		return
	}
	*into = int(value)
}

// seconds reads a whole number of seconds.
func (c *configReading) seconds(key string, into *time.Duration) {
	number := int(*into / time.Second)
	c.number(key, &number)
	*into = time.Duration(number) * time.Second
}

// bytes reads a size.
func (c *configReading) bytes(key string, into *int64) {
	if text, given := c.text(key); given {
		if value, ok := bytesOf(text); ok {
			*into = value
		} else {
			c.useless(key, text)
		}
	}
}

// list reads a list.
func (c *configReading) list(key string, into *[]string) {
	if text, given := c.text(key); given {
		*into = list(text)
	}
}

// networks reads a list of addresses and networks, all of which must be valid.
func (c *configReading) networks(key string, into *[]string) {
	text, given := c.text(key)
	if !given || len(list(text)) == 0 {
		return
	}
	found, ok := networks(strings.Join(list(text), ","))
	if !ok {
		c.close(key, quote(text)+" is no list of addresses and networks, and nginx does not accept it")
		return
	}
	*into = found
}

// word reads one of some words.
func (c *configReading) word(key string, into *string, words ...string) {
	text, given := c.text(key)
	switch {
	case !given:
	case slices.Contains(words, text):
		*into = text
	default:
		c.useless(key, text)
	}
}

// reference reads the name of a ConfigMap.
func (c *configReading) reference(key string, into **Reference) {
	text, given := c.text(key)
	if !given || text == "" {
		return
	}
	namespace, name, ok := static.ObjectName(text)
	if !ok {
		c.useless(key, text)
		return
	}
	*into = &Reference{namespace, name}
}
