package dynamic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// lookup finds a section by its key in lower case, and its name as it is documented.
func lookup(known map[string]section, folded string) (section, string) {
	for name, read := range known {
		if strings.ToLower(name) == folded {
			return read, name
		}
	}
	return nil, ""
}

func sortedKeys(known map[string]section) []string { return slices.Sorted(maps.Keys(known)) }

func (d *decoding) http(field *document.Field) {
	out := &HTTPConfiguration{}
	d.out.HTTP = out
	d.sections(field.Value, "http", "http.", map[string]section{
		"routers":  func(f *document.Field) { out.Routers = objects[Router](d, KindRouter, "http.routers", f) },
		"services": func(f *document.Field) { out.Services = objects[Service](d, KindService, "http.services", f) },
		"middlewares": func(f *document.Field) {
			out.Middlewares = objects[Middleware](d, KindMiddleware, "http.middlewares", f)
		},
		"serversTransports": func(f *document.Field) {
			out.ServersTransports = objects[ServersTransport](d, KindServersTransport, "http.serversTransports", f)
		},
	})
}

func (d *decoding) tcp(field *document.Field) {
	out := &TCPConfiguration{}
	d.out.TCP = out
	d.sections(field.Value, "tcp", "tcp.", map[string]section{
		"routers":  func(f *document.Field) { out.Routers = objects[TCPRouter](d, KindTCPRouter, "tcp.routers", f) },
		"services": func(f *document.Field) { out.Services = objects[TCPService](d, KindTCPService, "tcp.services", f) },
		"middlewares": func(f *document.Field) {
			out.Middlewares = objects[TCPMiddleware](d, KindTCPMiddleware, "tcp.middlewares", f)
		},
		"serversTransports": func(f *document.Field) {
			out.ServersTransports = objects[TCPServersTransport](d, KindTCPServersTransport, "tcp.serversTransports", f)
		},
	})
}

func (d *decoding) udp(field *document.Field) {
	out := &UDPConfiguration{}
	d.out.UDP = out
	d.sections(field.Value, "udp", "udp.", map[string]section{
		"routers":  func(f *document.Field) { out.Routers = objects[UDPRouter](d, KindUDPRouter, "udp.routers", f) },
		"services": func(f *document.Field) { out.Services = objects[UDPService](d, KindUDPService, "udp.services", f) },
	})
}

func (d *decoding) tls(field *document.Field) {
	out := &TLSConfiguration{}
	d.out.TLS = out
	d.sections(field.Value, "tls", "tls.", map[string]section{
		"certificates": func(f *document.Field) { out.Certificates = d.certificates(f.Value) },
		"options":      func(f *document.Field) { out.Options = objects[TLSOptions](d, KindTLSOptions, "tls.options", f) },
		"stores":       func(f *document.Field) { out.Stores = objects[TLSStore](d, KindTLSStore, "tls.stores", f) },
	})
}

func (d *decoding) certificates(list *document.Node) []*CertificateEntry {
	if list.Kind == document.Null {
		return nil
	}
	if list.Kind != document.List {
		d.finding(list.Line, "tls.certificates: expected a list, got %s", list.Kind)
		return nil
	}
	out := make([]*CertificateEntry, 0, len(list.Items))
	for _, item := range list.Items {
		ref := certificateRef(item, len(out))
		if _, twice := d.out.Origins.Find(ref); twice {
			d.twice(ref, item.Line)
			continue
		}
		out = append(out, object[CertificateEntry](d, ref, item.Line, item))
	}
	return out
}

// certificateRef names a certificate before it is decoded, so that it can be found unchanged.
func certificateRef(item *document.Node, index int) Ref {
	entry := CertificateEntry{}
	if file := item.Get("certFile"); file != nil && file.Value.Kind == document.Scalar {
		entry.CertFile = file.Value.Value
	}
	return entry.Ref(index)
}

// Ref returns the certificate's reference: its certFile where that is a path, or certificates[index] for inline PEM,
// where index is its place in the list of its provider.
func (c *CertificateEntry) Ref(index int) Ref {
	if c.CertFile == "" || !document.IsPath(c.CertFile) {
		return Ref{Kind: KindCertificate, Name: fmt.Sprintf("certificates[%d]", index)}
	}
	return Ref{Kind: KindCertificate, Name: c.CertFile}
}
