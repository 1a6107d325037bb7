package docker

import (
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// places are where the services of Compose files are declared, by the origins of their objects.
type places map[string]place

// place is where a service of a Compose file is declared, with its labels in their order.
type place struct {
	file   string
	line   int
	labels []labelLine
}

// labelLine is the line of a label.
type labelLine struct {
	name string
	line int
}

// Find returns the file and the line of the label that a verdict is about, or else of the service; "" for what is not
// from a Compose file.
func (c *Containers) Find(verdict dynamic.Verdict) (file string, line int) {
	service, known := c.places[verdict.Origin.Object]
	if !known {
		return "", 0
	}
	if _, rest, named := strings.Cut(verdict.Reason, "label "); named {
		name, _, _ := strings.Cut(rest, " ")
		if line := service.find(func(label string) bool { return label == strings.TrimRight(name, ":,") }); line > 0 {
			return service.file, line
		}
	}
	name, _, _ := strings.Cut(verdict.Ref.Name, "@")
	object := strings.ToLower(sectionOf(verdict.Ref.Kind) + name + ".")
	option, _, _ := strings.Cut(verdict.Reason, ":")
	for _, beginning := range []string{object + strings.ToLower(option), object} {
		line := service.find(func(label string) bool { return strings.Contains(strings.ToLower(label), beginning) })
		if line > 0 {
			return service.file, line
		}
	}
	return service.file, service.line
}

// sectionOf returns what the labels of a kind of object have before its name, such as tcp.routers.
func sectionOf(kind dynamic.Kind) string {
	for _, section := range []string{"tcp", "udp", "tls"} {
		if rest, found := strings.CutPrefix(string(kind), section); found {
			return section + "." + rest + "s."
		}
	}
	return "http." + string(kind) + "s."
}

// find returns the line of the first label that is meant, or 0.
func (p place) find(meant func(label string) bool) int {
	for _, label := range p.labels {
		if meant(label.name) {
			return label.line
		}
	}
	return 0
}

// placeOf returns where a service and its labels are declared.
func placeOf(file string, service document.Field) place {
	at := place{file: file, line: service.Line}
	labels := service.Value.Get("labels")
	if labels == nil {
		return at
	}
	for _, field := range labels.Value.Fields {
		at.labels = append(at.labels, labelLine{field.Key, field.Line})
	}
	for _, item := range labels.Value.Items {
		name, _, _ := strings.Cut(item.Value, "=")
		at.labels = append(at.labels, labelLine{name, item.Line})
	}
	return at
}
