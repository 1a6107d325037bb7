package dynamic

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// labelSections are the keys behind the root that are read.
var labelSections = []string{"http", "tcp", "udp", "tls", "enable", "docker", "swarm"}

// root reports an unknown key below the root if it is similar to a known one. Other keys are ignored, as in Traefik, so
// that constraints may use labels of their own.
func (l *labelling) root(key string, node *document.Node) {
	if slices.Contains(labelSections, strings.ToLower(key)) {
		return
	}
	meant := []string{"enable"} // The only option; a label such as traefik.tags was not meant to be the section tls.
	if node.Kind != document.Scalar {
		meant = slices.DeleteFunc(slices.Clone(labelSections), func(section string) bool { return section == "enable" })
	}
	if near, ok := document.Nearest(key, meant); ok {
		l.wrong(node.Line, "%s: unknown option, did you mean %q?", key, near)
		return
	}
	l.stray(node)
}

// stray notes a label without effect: one for its section, and each that has a successor.
func (l *labelling) stray(node *document.Node) {
	first := true
	for _, line := range linesOf(nil, node) {
		if written := l.written(line); first || LabelOfV1(written) != "" {
			l.out.Stray = append(l.out.Stray, written)
		}
		first = false
	}
}

// linesOf appends the lines of the labels in a tree.
func linesOf(lines []int, node *document.Node) []int {
	for _, item := range node.Items {
		lines = linesOf(lines, item)
	}
	for i := range node.Fields {
		lines = linesOf(lines, node.Fields[i].Value)
	}
	if len(node.Items) == 0 && len(node.Fields) == 0 {
		lines = append(lines, node.Line)
	}
	return lines
}

// read translates the tree.
func (l *labelling) read() {
	l.options()
	http := l.out.Configuration.HTTP
	l.section("http", map[string]func(string, *document.Node){
		"routers": func(name string, node *document.Node) { labelled(l, &http.Routers, KindRouter, name, node) },
		"services": func(name string, node *document.Node) {
			labelledService[ServersLoadBalancer](l, &http.Services, KindService, name, node, l.out.Servers)
		},
		"middlewares": func(name string, node *document.Node) { labelled(l, &http.Middlewares, KindMiddleware, name, node) },
		"serversTransports": func(name string, node *document.Node) {
			labelled(l, &http.ServersTransports, KindServersTransport, name, node)
			l.quarantine(Ref{KindServersTransport, name}, CodeUnsupportedKind, "can't be declared by labels; a file can")
		},
	})
	l.tcp()
	l.udp()
	l.tls()
	l.repeated()
}

// options reads the labels about the container itself.
func (l *labelling) options() {
	for _, key := range []string{"enable", "docker", "swarm"} {
		node := l.roots[key]
		if node == nil {
			continue
		}
		one := &document.Node{Kind: document.Map, Fields: []document.Field{{Key: key, Line: node.Line, Value: node}}}
		problems := l.decoder.values.Decode(one, &l.out.Options)
		if key == "enable" && len(problems) > 0 {
			l.out.Options.Enable = nil
		}
		for _, problem := range problems {
			l.out.Wrong = append(l.out.Wrong, brief(l.reason(problem)))
		}
	}
}

// section passes each object of a section to the reader of its kind.
func (l *labelling) section(name string, kinds map[string]func(string, *document.Node)) {
	root := l.roots[name]
	if root == nil {
		return
	}
	if root.Kind != document.Map {
		l.wrong(root.Line, "names no object")
		return
	}
	for i := range root.Fields {
		kind := &root.Fields[i]
		read := kinds[""]
		for key, one := range kinds {
			if strings.EqualFold(key, kind.Key) {
				read = one
			}
		}
		switch {
		case read == nil:
			l.wrong(kind.Line, "%s: %s", kind.Key, document.Unknown(kind.Key, slices.Sorted(maps.Keys(kinds))))
		case kind.Value.Kind != document.Map:
			l.wrong(kind.Line, "names no object")
		default:
			l.objects(kind.Value, read)
		}
	}
}

// objects hands over the objects of one kind.
func (l *labelling) objects(kind *document.Node, read func(string, *document.Node)) {
	for i := range kind.Fields {
		name := kind.Fields[i].Key
		if strings.Contains(name, "@") {
			l.wrong(kind.Fields[i].Line, "the name %q holds an @, which separates a name from its provider", name)
			continue
		}
		read(name, kind.Fields[i].Value)
	}
}

// labelled translates one object.
func labelled[T any](l *labelling, into *Objects[T], kind Kind, name string, node *document.Node) *T {
	presence(node, reflect.TypeFor[T]())
	object, problems := DecodeObject[T](&l.decoder.values, node)
	into.Set(&l.edit, name, object)
	for i, problem := range problems {
		if i == mostFindings {
			l.quarantine(Ref{kind, name}, CodeInvalidOption, fmt.Sprintf("has %d more mistakes", len(problems)-mostFindings))
			break
		}
		l.quarantine(Ref{kind, name}, CodeInvalidOption, l.reason(problem))
	}
	return object
}

// tcp reads the section tcp.
func (l *labelling) tcp() {
	if l.roots["tcp"] == nil {
		return
	}
	tcp := &TCPConfiguration{}
	l.out.Configuration.TCP = tcp
	l.section("tcp", map[string]func(string, *document.Node){
		"routers": func(name string, node *document.Node) { labelled(l, &tcp.Routers, KindTCPRouter, name, node) },
		"services": func(name string, node *document.Node) {
			service := labelledService[TCPServersLoadBalancer](l, &tcp.Services, KindTCPService, name, node, l.out.TCPServers)
			l.unweighted(Ref{KindTCPService, name}, service.Weighted != nil)
		},
		"middlewares": func(name string, node *document.Node) {
			labelled(l, &tcp.Middlewares, KindTCPMiddleware, name, node)
		},
		"serversTransports": func(name string, node *document.Node) {
			labelled(l, &tcp.ServersTransports, KindTCPServersTransport, name, node)
			l.quarantine(Ref{KindTCPServersTransport, name}, CodeUnsupportedKind, "can't be declared by labels; a file can")
		},
	})
}

// udp reads the section udp.
func (l *labelling) udp() {
	if l.roots["udp"] == nil {
		return
	}
	udp := &UDPConfiguration{}
	l.out.Configuration.UDP = udp
	l.section("udp", map[string]func(string, *document.Node){
		"routers": func(name string, node *document.Node) { labelled(l, &udp.Routers, KindUDPRouter, name, node) },
		"services": func(name string, node *document.Node) {
			service := labelledService[UDPServersLoadBalancer](l, &udp.Services, KindUDPService, name, node, l.out.UDPServers)
			l.unweighted(Ref{KindUDPService, name}, service.Weighted != nil)
		},
	})
}

// unweighted refuses the weighted services of TCP and UDP, which labels do not declare in Traefik either.
func (l *labelling) unweighted(ref Ref, weighted bool) {
	if weighted {
		l.quarantine(ref, CodeUnsupportedOption, "weighted can't be given by labels; a file can")
	}
}

// labelledService translates a service with a load balancer B, and the container's options V as its server.
func labelledService[B, V, S any](
	l *labelling, into *Objects[S], kind Kind, name string, node *document.Node, servers map[string]*V,
) *S {
	ref := Ref{kind, name}
	var server *document.Node
	if balancer := node.Get("loadBalancer"); balancer != nil && balancer.Value.Kind == document.Map {
		fields := slices.Clone(balancer.Value.Fields)
		fields = slices.DeleteFunc(fields, func(f document.Field) bool {
			switch {
			case strings.EqualFold(f.Key, "server"):
				server = f.Value
				return true
			case strings.EqualFold(f.Key, "servers"):
				l.quarantine(ref, CodeInvalidOption, l.reason(document.Problem{
					Line: f.Line, Path: f.Key, Reason: document.Unknown(f.Key, []string{"server"}),
				}))
				return true
			}
			return false
		})
		balancer.Value.Fields = fields
		var of B
		var options V
		if misplaced := l.serverOptions(ref, balancer.Value, of, options); server == nil {
			server = misplaced
		}
	}
	object := labelled(l, into, kind, name, node)
	if server == nil {
		return object
	}
	one := new(V)
	for _, problem := range l.decoder.values.Decode(server, one) {
		l.quarantine(ref, CodeInvalidOption, l.reason(problem))
	}
	servers[name] = one
	return object
}

// tls reads the stores; all other TLS objects name files, which labels don't.
func (l *labelling) tls() {
	root := l.roots["tls"]
	if root == nil || root.Kind != document.Map {
		return
	}
	for i := range root.Fields {
		kind := &root.Fields[i]
		if !strings.EqualFold(kind.Key, "stores") || kind.Value.Kind != document.Map {
			l.out.Stray = append(l.out.Stray, l.written(kind.Line))
			continue
		}
		if l.out.Configuration.TLS == nil {
			l.out.Configuration.TLS = &TLSConfiguration{}
		}
		l.objects(kind.Value, func(name string, node *document.Node) {
			store := labelled(l, &l.out.Configuration.TLS.Stores, KindTLSStore, name, node)
			if store.DefaultCertificate != nil {
				l.quarantine(Ref{KindTLSStore, name}, CodeUnsupportedOption,
					"defaultCertificate can't be given by labels; a file can")
			}
		})
	}
}

// repeated reports labels that duplicate another one in a different case.
func (l *labelling) repeated() {
	for _, one := range l.twice {
		l.out.Wrong = append(l.out.Wrong, "label "+brief(one.written)+": another label differs from it in case alone")
	}
}

func (l *labelling) quarantine(ref Ref, code Code, reason string) {
	verdicts := &l.out.Configuration.Verdicts
	*verdicts = append(*verdicts, Verdict{Ref: ref, Status: Quarantined, Code: code, Reason: brief(reason)})
}

func (l *labelling) wrong(line int, format string, args ...any) {
	l.out.Wrong = append(l.out.Wrong, brief("label "+l.written(line)+": "+fmt.Sprintf(format, args...)))
}

// written returns the label of a line as written.
func (l *labelling) written(line int) string {
	if line < 1 || line > len(l.labels) {
		return labelRoot
	}
	return l.labels[line-1].written
}

// reason names the label of a problem, and its key where that is not the label's last one.
func (l *labelling) reason(problem document.Problem) string {
	if problem.Line < 1 || problem.Line > len(l.labels) {
		return problem.String()
	}
	written := l.written(problem.Line)
	key := problem.Path[strings.LastIndexByte(problem.Path, '.')+1:]
	if key == "" || strings.HasSuffix(strings.ToLower(written), "."+strings.ToLower(key)) {
		return "label " + written + ": " + problem.Reason
	}
	return "label " + written + ": " + key + ": " + problem.Reason
}
