package router

import (
	"cmp"
	"errors"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
)

// DefaultTransport is the name of the transport that the static section serversTransport describes.
const DefaultTransport = "default@internal"

// transportNode is a compiled transport.
type transportNode struct {
	dialer   *forward.Transport
	err      error
	warnings []string
}

// transportOf returns the transport that a service names, empty for the default one.
func (c *Compiler) transportOf(service, name string) *transportNode {
	owner := dynamic.Ref{Kind: dynamic.KindService, Name: service}
	if name == "" {
		name = DefaultTransport
	}
	ref := dynamic.Ref{Kind: dynamic.KindServersTransport, Name: Qualify(name, providerOf(service))}
	c.graph.depend(owner, ref)
	node := c.transport(ref)
	if node.err != nil {
		return &transportNode{err: because(ref, node.err)}
	}
	return node
}

func (c *Compiler) transport(ref dynamic.Ref) *transportNode {
	if node, known := c.transports[ref.Name]; known {
		return node
	}
	node := c.buildTransport(ref)
	if !absent(node.err) { // A node of an absent name would never be invalidated.
		c.transports[ref.Name] = node
	}
	return node
}

func (c *Compiler) buildTransport(ref dynamic.Ref) *transportNode {
	definition := c.source.transport(ref.Name)
	if ref.Name == DefaultTransport && definition == nil {
		definition = c.options.Transport
	}
	if definition == nil {
		return &transportNode{err: errMissing}
	}
	if err := c.source.refused(ref); err != nil {
		return &transportNode{err: err}
	}
	transport, err := forward.NewTransport(ref.Name, definition, c.options.Identity)
	if err != nil {
		return &transportNode{err: cmp.Or(errors.Unwrap(err), err)} // The verdict names the object.
	}
	if c.options.Dial != nil {
		transport.DialWith(c.options.Dial)
	}
	transport.Reserve(c.options.Descriptors)
	transport.Control(c.options.Control)
	node := &transportNode{dialer: transport}
	if accepted := definition.Spiffe; accepted != nil && len(accepted.IDs) > 0 && accepted.TrustDomain != "" {
		node.warnings = append(node.warnings, "spiffe.trustDomain has no effect beside spiffe.ids")
	}
	return node
}
