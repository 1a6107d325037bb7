package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	enginetypes "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/network"

	"github.com/sluiceproxy/sluice/document"
)

// Containers are containers that no engine runs: the output of docker inspect, or the services of a Compose file. Their
// labels are read as those of running containers.
type Containers struct {
	inspected []*enginetypes.InspectResponse
	places    places
}

// AddInspected adds the containers of the output of docker inspect.
func (c *Containers) AddInspected(data []byte) error {
	var all []*enginetypes.InspectResponse
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("not the output of docker inspect: %w", err)
	}
	for i, one := range all {
		if one == nil || one.Config == nil {
			return fmt.Errorf("not the output of docker inspect: element %d has no Config", i)
		}
		one.State = &enginetypes.State{Status: enginetypes.StateRunning}
		if one.ID == "" {
			one.ID = one.Name
		}
		c.inspected = append(c.inspected, one)
	}
	return nil
}

// AddCompose adds a container for each service of a Compose file: labels, ports and expose are read, and all services
// are in one network. Variables in labels stay as they are written. file is the name of the file for Find.
func (c *Containers) AddCompose(file, project string, services *document.Node) {
	if c.places == nil {
		c.places = places{}
	}
	for i := range services.Fields {
		service := services.Fields[i]
		labels := labelsOf(service.Value.Get("labels"))
		labels[composeProject], labels[composeService] = project, service.Key
		one := &enginetypes.InspectResponse{
			ID: project + "-" + service.Key, Name: "/" + service.Key,
			State: &enginetypes.State{Status: enginetypes.StateRunning},
			Config: &enginetypes.Config{
				Labels: labels, ExposedPorts: network.PortSet{},
			},
			NetworkSettings: &enginetypes.NetworkSettings{Networks: map[string]*network.EndpointSettings{
				// An address for documentation (RFC 5737): the real one is known once the container runs.
				project + "_default": {IPAddress: netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + len(c.inspected)%250)})},
			}},
		}
		for _, list := range []string{"ports", "expose"} {
			field := service.Value.Get(list)
			if field == nil {
				continue
			}
			for _, item := range field.Value.Items {
				if port, err := network.ParsePort(containerPort(item)); err == nil {
					one.Config.ExposedPorts[port] = struct{}{}
				}
			}
		}
		c.inspected = append(c.inspected, one)
		shown := &container{name: service.Key, labels: labels}
		c.places[shown.origin()], c.places[shown.declarer()] = placeOf(file, service), placeOf(file, service)
	}
}

// labelsOf reads labels that are written as a map, or as a list of NAME=VALUE.
func labelsOf(field *document.Field) map[string]string {
	labels := map[string]string{}
	if field == nil {
		return labels
	}
	for i := range field.Value.Fields {
		labels[field.Value.Fields[i].Key] = field.Value.Fields[i].Value.Value
	}
	for _, item := range field.Value.Items {
		name, value, _ := strings.Cut(item.Value, "=")
		labels[name] = value
	}
	return labels
}

// containerPort returns the port inside the container of an entry of ports or expose:
// [[ADDRESS:]PUBLISHED:]PORT[/PROTO], or an object with target.
func containerPort(item *document.Node) string {
	if target := item.Get("target"); target != nil {
		return target.Value.Value
	}
	return item.Value[strings.LastIndex(item.Value, ":")+1:]
}

// Use has the provider read these containers in place of an engine.
func (p *Provider) Use(containers *Containers) {
	p.connect = func() (engine, error) { return fixed{containers}, nil }
	p.resolve = func(context.Context) netip.Addr { return netip.Addr{} }
}

// fixed is an engine whose containers do not change.
type fixed struct{ *Containers }

func (f fixed) listen(context.Context) (<-chan events.Message, <-chan error) { return nil, nil }

func (f fixed) list(context.Context) ([]enginetypes.Summary, error) {
	var all []enginetypes.Summary
	for _, one := range f.inspected {
		all = append(all, enginetypes.Summary{ID: one.ID, State: enginetypes.StateRunning, Labels: one.Config.Labels})
	}
	return all, nil
}

func (f fixed) inspect(_ context.Context, id string) (*enginetypes.InspectResponse, error) {
	for _, one := range f.inspected {
		if one.ID == id {
			return one, nil
		}
	}
	return nil, errGone
}

func (f fixed) ping(context.Context) error { return nil }

func (f fixed) close() {}
