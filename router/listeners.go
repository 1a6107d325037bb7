package router

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// listeners holds what was compiled of the listeners of providers between compilations.
type listeners struct {
	// all are the declared ones by name, also those that do not serve.
	all map[string]*listenerNode
	// sites are the addresses of those that serve.
	sites *sites
	// changed are the names of those that serve since this compilation, in another way, or no more.
	changed []string
}

// listenerNode is a compiled listener. It is immutable once it is in a table.
type listenerNode struct {
	name       string
	definition *dynamic.Listener
	// entrypoint is what routers inherit, address where the socket is, and hostname that of the definition in lower case;
	// empty for protocols that have none.
	entrypoint EntryPoint
	address    Address
	hostname   string
	// template is the one whose options the socket has.
	template string
	warnings []string
	err      error
}

// same reports whether two nodes, of which either may be nil, serve alike and have the same verdict.
func (n *listenerNode) same(other *listenerNode) bool {
	if n == nil || other == nil {
		return n == other
	}
	return n.definition == other.definition && n.template == other.template && faultText(n.err) == faultText(other.err)
}

func faultText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func listenerRef(name string) dynamic.Ref { return dynamic.Ref{Kind: dynamic.KindListener, Name: name} }

// foreign reports whether a name is that of a listener of another provider than the object that names it. Which routes
// may attach is decided by the provider that declares a listener; Sluice's own objects may name all.
func foreign(name, by string) bool {
	of := providerOf(by)
	return dynamic.NamesListener(name) && providerOf(name) != of && of != internalProvider
}

// refuseForeign says that an object cannot name a listener, whether it exists or not.
func refuseForeign(name string) string {
	return fmt.Sprintf("listener %q takes only objects of its own provider", name)
}

// updateListeners compiles the listeners if one of them has changed, and returns those whose routers are to be built
// anew.
func (c *Compiler) updateListeners(changed []dynamic.Ref) []dynamic.Ref {
	c.listeners.changed = nil
	if !slices.ContainsFunc(changed, func(ref dynamic.Ref) bool { return ref.Kind == dynamic.KindListener }) {
		return nil
	}
	before, after := c.listeners.all, map[string]*listenerNode{}
	if section := c.source.config.Listeners; section != nil {
		for name, definition := range section.Listeners.All() {
			if definition != nil {
				after[name] = c.buildListener(name, definition)
			}
		}
	}
	order := slices.SortedFunc(maps.Values(after), func(a, b *listenerNode) int {
		return cmp.Or(cmp.Compare(c.providerRank(a.name), c.providerRank(b.name)),
			a.definition.Created.Compare(b.definition.Created), cmp.Compare(a.name, b.name))
	})
	c.listeners.all, c.listeners.sites = after, newSites(order)
	var refs []dynamic.Ref
	for name := range union(before, after) {
		if !before[name].same(after[name]) {
			refs = append(refs, listenerRef(name))
			c.listeners.changed = append(c.listeners.changed, name)
		}
	}
	slices.Sort(c.listeners.changed)
	return refs
}

// union returns the keys of two maps.
func union[V any](a, b map[string]V) map[string]struct{} {
	keys := make(map[string]struct{}, len(a)+len(b))
	for key := range a {
		keys[key] = struct{}{}
	}
	for key := range b {
		keys[key] = struct{}{}
	}
	return keys
}

// buildListener compiles one listener by itself.
func (c *Compiler) buildListener(name string, definition *dynamic.Listener) *listenerNode {
	node := &listenerNode{name: name, definition: definition, template: definition.Template}
	node.err = c.source.refused(listenerRef(name))
	network := "tcp"
	switch definition.Protocol {
	case dynamic.ListenerHTTP, dynamic.ListenerHTTPS, dynamic.ListenerTLS:
		hostname, err := listenerHostname(definition.Hostname)
		node.hostname, node.err = hostname, errors.Join(node.err, err)
	case dynamic.ListenerTCP:
	case dynamic.ListenerUDP:
		network = "udp"
	default:
		node.err = errors.Join(node.err, fmt.Errorf("protocol: %q is none of HTTP, HTTPS, TLS, TCP, UDP", definition.Protocol))
	}
	hostPort, port, err := listenAddress(definition.Address)
	node.address, node.err = Address{Network: network, HostPort: hostPort}, errors.Join(node.err, err)
	if definition.Port < 0 || definition.Port > 65535 {
		node.err = errors.Join(node.err, fmt.Errorf("port: %d is not in 0 to 65535", definition.Port))
	}
	template, known := c.options.Templates[definition.Template]
	if !known && c.source.stubs == nil {
		node.err = errors.Join(node.err, c.missingTemplate(definition.Template))
	}
	if node.err != nil {
		node.err = firstOf(node.err)
	}
	node.entrypoint.Port = cmp.Or(definition.Port, port)
	node.entrypoint.Loopback = onLoopback(hostPort)
	node.inherit(&template)
	return node
}

// inherit gives the listener the options of a template, or of a listener that has them.
func (n *listenerNode) inherit(from *EntryPoint) {
	port, loopback := n.entrypoint.Port, n.entrypoint.Loopback
	n.entrypoint = *from
	n.entrypoint.Name, n.entrypoint.Protocol = n.name, n.definition.Protocol
	n.entrypoint.Port, n.entrypoint.Loopback = port, loopback
	n.entrypoint.Default, n.entrypoint.PreferHTTP, n.entrypoint.TLS = false, false, nil
}

// warnOfTemplate names the options of the template that the listener does not have.
func (n *listenerNode) warnOfTemplate() {
	options := slices.DeleteFunc(slices.Clone(n.entrypoint.OwnOptions), func(option string) bool {
		switch n.definition.Protocol {
		case dynamic.ListenerHTTPS:
			return false
		case dynamic.ListenerHTTP:
			return option != OptionRedirections
		case dynamic.ListenerTLS:
			return option != OptionTLS
		case dynamic.ListenerTCP, dynamic.ListenerUDP:
		}
		return true
	})
	if len(options) > 0 {
		n.warnings = append(n.warnings, fmt.Sprintf("template: listeners do not take %s of the entrypoint %q",
			strings.Join(options, ", "), n.template))
	}
}

func (c *Compiler) missingTemplate(name string) error {
	reason := fmt.Sprintf("template: there is no entrypoint %q whose options listeners can have", name)
	if nearest, ok := document.Nearest(name, slices.Sorted(maps.Keys(c.options.Templates))); ok && nearest != "" {
		reason += fmt.Sprintf(", did you mean %q?", nearest)
	}
	return &coded{code: dynamic.CodeMissingEntryPoint, error: errors.New(reason)}
}

// listenAddress returns an address in the form in which addresses are compared, and its port.
func listenAddress(address string) (hostPort string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("address: %q is not of the form [HOST]:PORT", address)
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return "", 0, fmt.Errorf("address: the port of %q is not in 1 to 65535", address)
	}
	if host != "" {
		ip, err := netip.ParseAddr(host)
		if err != nil {
			return "", 0, fmt.Errorf("address: the host of %q is not an IP address", address)
		}
		host = ip.Unmap().String()
	}
	return net.JoinHostPort(host, strconv.FormatUint(number, 10)), int(number), nil
}

func onLoopback(hostPort string) bool {
	address, err := netip.ParseAddrPort(hostPort)
	return err == nil && address.Addr().IsLoopback()
}

// maxHostname and maxLabel bound names (RFC 1035, section 2.3.4).
const (
	maxHostname = 253
	maxLabel    = 63
)

// listenerHostname returns a hostname in lower case, with *. before it for all names below it.
func listenerHostname(hostname string) (string, error) {
	lower := strings.ToLower(hostname)
	name := strings.TrimPrefix(lower, "*.")
	if lower == "" {
		return "", nil
	}
	wrong := len(name) > maxHostname
	for label := range strings.SplitSeq(name, ".") {
		wrong = wrong || !validLabel(label)
	}
	if _, err := netip.ParseAddr(name); err == nil || wrong {
		return "", fmt.Errorf("hostname: %q is neither a DNS name nor *. before one", hostname)
	}
	return lower, nil
}

// validLabel reports whether a label in lower case consists of letters, digits and inner hyphens (RFC 1123, section
// 2.1).
func validLabel(label string) bool {
	if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(label, func(r rune) bool {
		return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// serving returns the listener of a name that serves, or nil.
func (l *listeners) serving(name string) *listenerNode {
	if node := l.all[name]; node != nil && node.err == nil {
		return node
	}
	return nil
}

// entryPoints yields what routers inherit from the listeners that serve, by name.
func (l *listeners) entryPoints() map[string]EntryPoint {
	found := map[string]EntryPoint{}
	for name, node := range l.all {
		if node.err == nil {
			found[name] = node.entrypoint
		}
	}
	return found
}

// entryPoint returns the entrypoint or listener of a name that serves.
func (c *Compiler) entryPoint(name string) (EntryPoint, bool) {
	if at := slices.IndexFunc(c.options.EntryPoints, func(e EntryPoint) bool { return e.Name == name }); at >= 0 {
		return c.options.EntryPoints[at], true
	}
	if node := c.listeners.serving(name); node != nil {
		return node.entrypoint, true
	}
	if c.source.stubs != nil && dynamic.NamesListener(name) { // What a definition refers to counts as valid.
		return EntryPoint{Name: name}, true
	}
	return EntryPoint{}, false
}

// missingListener says why a listener serves nothing.
func (c *Compiler) missingListener(name string) string {
	node := c.listeners.all[name]
	if node == nil {
		return fmt.Sprintf("listener %q does not exist", name)
	}
	return fmt.Sprintf("listener %q does not serve: %v", name, node.err)
}

// missingEntryPoint says that an entrypoint does not exist, or that a listener serves nothing.
func (c *Compiler) missingEntryPoint(name string) string {
	if dynamic.NamesListener(name) {
		return c.missingListener(name)
	}
	return c.tls.missing(name)
}

// takes reports whether routers of a kind can be on the entrypoint.
func (e EntryPoint) takes(kind dynamic.Kind) bool {
	switch e.Protocol {
	case dynamic.ListenerHTTP, dynamic.ListenerHTTPS:
		return kind == dynamic.KindRouter
	case dynamic.ListenerTLS, dynamic.ListenerTCP:
		return kind == dynamic.KindTCPRouter
	case dynamic.ListenerUDP:
		return kind == dynamic.KindUDPRouter
	}
	return kind != dynamic.KindUDPRouter
}

// refusal says that the listener takes no routers of a kind.
func (e EntryPoint) refusal(kind dynamic.Kind) string {
	protocol := map[dynamic.Kind]string{dynamic.KindTCPRouter: "TCP ", dynamic.KindUDPRouter: "UDP "}[kind]
	return fmt.Sprintf("listener %q is one for %s and takes no %srouters", e.Name, e.Protocol, cmp.Or(protocol, "HTTP "))
}

// secured returns the section tls of a router on the entrypoint; nil for one whose requests come without TLS.
func (e EntryPoint) secured(declared *dynamic.RouterTLS) *dynamic.RouterTLS {
	switch e.Protocol {
	case dynamic.ListenerHTTP:
		return nil
	case dynamic.ListenerHTTPS:
		return cmp.Or(declared, &dynamic.RouterTLS{})
	}
	return cmp.Or(declared, e.TLS)
}

// securedStream returns the section tls of a TCP router on the entrypoint; nil for one whose connections come without
// TLS.
func (e EntryPoint) securedStream(declared *dynamic.TCPRouterTLS) (*dynamic.TCPRouterTLS, error) {
	switch {
	case e.Protocol == dynamic.ListenerTLS && declared == nil:
		return &dynamic.TCPRouterTLS{}, nil
	case e.Protocol == dynamic.ListenerTCP && declared != nil:
		return nil, fmt.Errorf("tls: listener %q is one for TCP and takes no routers with TLS", e.Name)
	}
	return declared, nil
}

// serve makes a table serve as a generation, with its sockets open before it does and served after.
func (c *Compiler) serve(table *Table, generation uint64) {
	rebind := c.options.Sockets != nil && !table.sites.equal(c.target.Table().sites)
	if rebind {
		c.options.Sockets.Bind(table.sites.sockets)
	}
	c.target.store(table, generation)
	if rebind {
		c.options.Sockets.Follow()
	}
}
