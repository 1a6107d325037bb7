package status

import (
	"cmp"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The largest numbers of entries that the API accepts.
const (
	mostParents   = 32
	mostAncestors = 16
)

// entry is one of this controller's entries in the status of a route or policy.
type entry struct {
	ref        gatewayv1.ParentReference
	conditions []metav1.Condition
}

// reference is a ParentReference with its defaults, for comparison.
type reference struct {
	group, kind, namespace, name, section string
	port                                  gatewayv1.PortNumber
}

// reference returns the key of a reference.
func (m *merger) reference(ref gatewayv1.ParentReference) reference {
	key := reference{
		group: gatewayv1.GroupName, kind: string(Gateway), namespace: m.desired.Namespace, name: string(ref.Name),
	}
	if ref.Group != nil {
		key.group = string(*ref.Group)
	}
	if ref.Kind != nil {
		key.kind = string(*ref.Kind)
	}
	if ref.Namespace != nil {
		key.namespace = string(*ref.Namespace)
	}
	if ref.SectionName != nil {
		key.section = string(*ref.SectionName)
	}
	if ref.Port != nil {
		key.port = *ref.Port
	}
	return key
}

// entries patches a list whose entries have the key (controllerName, reference): those of other controllers stay, this
// controller's become the desired ones.
func (m *merger) entries(live members, name, refName string, own []entry, most int) error {
	elements, err := list(live[name])
	if err != nil {
		return err
	}
	keys := make([]reference, len(own))
	for i, one := range own {
		keys[i] = m.reference(one.ref)
	}
	result := make([]json.RawMessage, 0, len(elements)+len(own))
	written, changed := make([]bool, len(own)), false
	for _, element := range elements {
		var before members
		var controller gatewayv1.GatewayController
		var ref gatewayv1.ParentReference
		if err := json.Unmarshal(element, &before); err != nil {
			return err
		}
		if err := cmp.Or(decode(before["controllerName"], &controller), decode(before[refName], &ref)); err != nil {
			return err
		}
		if controller != m.controller {
			m.foreign = true
			result = append(result, element)
			continue
		}
		at := slices.Index(keys, m.reference(ref))
		if at < 0 || written[at] {
			changed = true
			if _, _, err := m.conditions(before["conditions"], nil, entryConditions); err != nil {
				return err
			}
			continue
		}
		written[at] = true
		merged, differs, err := m.entry(before, own[at])
		if err != nil {
			return err
		}
		if !differs {
			merged = element
		}
		result, changed = append(result, merged), changed || differs
	}
	for i, one := range own {
		if written[i] || slices.Contains(keys[:i], keys[i]) {
			continue
		}
		if len(result) >= most {
			m.dropped++
			continue
		}
		added, err := m.added(refName, one)
		if err != nil {
			return err
		}
		result, changed = append(result, added), true
	}
	if !changed {
		return nil
	}
	m.patch[name], err = encode(result)
	return err
}

// entry returns a live entry of this controller with the desired conditions.
func (m *merger) entry(before members, own entry) (json.RawMessage, bool, error) {
	conditions, changed, err := m.conditions(before["conditions"], own.conditions, entryConditions)
	if err != nil {
		return nil, false, err
	}
	before["conditions"] = conditions
	encoded, err := encode(before)
	return encoded, changed, err
}

// added returns an entry that is not there yet.
func (m *merger) added(refName string, own entry) (json.RawMessage, error) {
	if own.ref.Group == nil {
		own.ref.Group = new(gatewayv1.Group(gatewayv1.GroupName))
	}
	if own.ref.Kind == nil {
		own.ref.Kind = new(gatewayv1.Kind(Gateway))
	}
	conditions, _, err := m.conditions(nil, own.conditions, entryConditions)
	if err != nil {
		return nil, err
	}
	return encode(map[string]any{refName: own.ref, "controllerName": m.controller, "conditions": conditions})
}

// listener is the status of one listener, of a Gateway or a ListenerSet.
type listener struct {
	name       gatewayv1.SectionName
	conditions *[]metav1.Condition
	kinds      []gatewayv1.RouteGroupKind
	attached   int32
}

// mergeListeners patches the statuses of listeners, which belong to the controller of the Gateway, except for
// conditions of other types.
func mergeListeners[T any](m *merger, live members, own []T, read func(*T) listener) error {
	elements, err := list(live["listeners"])
	if err != nil {
		return err
	}
	known := map[gatewayv1.SectionName]members{}
	order := make([]gatewayv1.SectionName, 0, len(elements))
	for _, element := range elements {
		var before members
		var name gatewayv1.SectionName
		if err := json.Unmarshal(element, &before); err != nil {
			return err
		}
		if err := decode(before["name"], &name); err != nil {
			return err
		}
		known[name] = before
		order = append(order, name)
	}
	result := make([]members, 0, len(own))
	changed := len(own) != len(elements)
	for i := range own {
		one := read(&own[i])
		changed = changed || order[i] != one.name
		after, differs, err := m.listener(known[one.name], one)
		if err != nil {
			return err
		}
		changed = changed || differs
		result = append(result, after)
	}
	if !changed {
		return nil
	}
	m.patch["listeners"], err = encode(result)
	return err
}

// listener returns the status of one listener; before is nil when there is none.
func (m *merger) listener(before members, own listener) (after members, changed bool, err error) {
	after = members{}
	for name, value := range before {
		after[name] = value
	}
	after["conditions"], changed, err = m.conditions(before["conditions"], *own.conditions, listenerConditions)
	if err != nil {
		return nil, false, err
	}
	kinds := make([]gatewayv1.RouteGroupKind, len(own.kinds))
	for i, kind := range own.kinds {
		if kinds[i] = kind; kind.Group == nil {
			kinds[i].Group = new(gatewayv1.Group(gatewayv1.GroupName))
		}
	}
	for name, value := range map[string]any{"name": own.name, "supportedKinds": kinds, "attachedRoutes": own.attached} {
		encoded, err := encode(value)
		if err != nil {
			return nil, false, err
		}
		if present := before[name] != nil; !present || !same(before[name], encoded) {
			changed = changed || !(name == "supportedKinds" && len(kinds) == 0 && !present)
			after[name] = encoded
		}
	}
	return after, changed, nil
}

// decode reads a member that may be absent.
func decode(value json.RawMessage, into any) error {
	if len(value) == 0 {
		return nil
	}
	return json.Unmarshal(value, into)
}
