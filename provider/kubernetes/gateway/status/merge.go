package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Merged is what is to be written to one object.
type Merged struct {
	// Patch is the status as a JSON merge patch: the members that differ, without the ones that stay. It is nil when
	// nothing is to be written.
	Patch json.RawMessage
	// Foreign says that the status has conditions or entries of other controllers, so that only the object as the API
	// server has it may be the base of a patch: a copy in types lacks fields that the types do not know.
	Foreign bool
	// Stale says that the object is another one of the name, or was observed in a newer generation already.
	Stale bool
	// Dropped is the number of this controller's entries for which the status has no room.
	Dropped int
}

// Merge works the status that a controller desires into a live object, given as JSON. Conditions of other types,
// entries of other controllers, and members that this package does not know keep their bytes. It fails when the object
// is not one of the Gateway API.
func Merge(live []byte, desired *Desired, controller gatewayv1.GatewayController, now time.Time) (Merged, error) {
	var object struct {
		Metadata struct {
			UID types.UID `json:"uid"`
		} `json:"metadata"`
		Status members `json:"status"`
	}
	if err := json.Unmarshal(live, &object); err != nil {
		return Merged{}, fmt.Errorf("%s %s: %w", desired.Kind, desired.NamespacedName, err)
	}
	if object.Metadata.UID != desired.UID {
		return Merged{Stale: true}, nil
	}
	m := &merger{
		desired: desired, controller: controller, now: metav1.NewTime(now.Truncate(time.Second)), patch: members{},
	}
	if err := m.status(object.Status); err != nil {
		return Merged{}, fmt.Errorf("%s %s: %w", desired.Kind, desired.NamespacedName, err)
	}
	merged := Merged{Foreign: m.foreign, Stale: m.stale, Dropped: m.dropped}
	if m.stale || len(m.patch) == 0 {
		return merged, nil
	}
	var err error
	merged.Patch, err = encode(m.patch)
	return merged, err
}

// members are the members of a JSON object.
type members map[string]json.RawMessage

// merger is the state of one Merge.
type merger struct {
	desired    *Desired
	controller gatewayv1.GatewayController
	now        metav1.Time

	patch   members
	foreign bool
	stale   bool
	dropped int
}

// status works the whole status in.
func (m *merger) status(live members) error {
	switch d := m.desired; {
	case d.Class != nil:
		if err := m.set(live, "supportedFeatures", d.Class.SupportedFeatures); err != nil {
			return err
		}
		return m.setConditions(live, d.Class.Conditions, classConditions)
	case d.Gateway != nil:
		return m.gateway(live, d.Gateway)
	case d.ListenerSet != nil:
		if err := m.setConditions(live, d.ListenerSet.Conditions, gatewayConditions); err != nil {
			return err
		}
		return mergeListeners(m, live, d.ListenerSet.Listeners, func(l *gatewayv1.ListenerEntryStatus) listener {
			return listener{l.Name, &l.Conditions, l.SupportedKinds, l.AttachedRoutes}
		})
	case d.Kind == BackendTLSPolicy:
		own := make([]entry, 0, len(d.Ancestors))
		for _, one := range d.Ancestors {
			own = append(own, entry{one.AncestorRef, one.Conditions})
		}
		return m.entries(live, "ancestors", "ancestorRef", own, mostAncestors)
	default:
		own := make([]entry, 0, len(d.Parents))
		for _, one := range d.Parents {
			own = append(own, entry{one.ParentRef, one.Conditions})
		}
		return m.entries(live, "parents", "parentRef", own, mostParents)
	}
}

func (m *merger) gateway(live members, status *gatewayv1.GatewayStatus) error {
	addresses := make([]gatewayv1.GatewayStatusAddress, len(status.Addresses))
	for i, address := range status.Addresses {
		if addresses[i] = address; address.Type == nil {
			addresses[i].Type = new(gatewayv1.IPAddressType)
		}
	}
	if err := m.set(live, "addresses", addresses); err != nil {
		return err
	}
	if err := m.set(live, "attachedListenerSets", status.AttachedListenerSets); err != nil {
		return err
	}
	if err := m.setConditions(live, status.Conditions, gatewayConditions); err != nil {
		return err
	}
	return mergeListeners(m, live, status.Listeners, func(l *gatewayv1.ListenerStatus) listener {
		return listener{l.Name, &l.Conditions, l.SupportedKinds, l.AttachedRoutes}
	})
}

// set patches a member that is this controller's alone, if its value differs.
func (m *merger) set(live members, name string, value any) error {
	encoded, err := encode(value)
	if err != nil {
		return err
	}
	if !same(live[name], encoded) {
		m.patch[name] = encoded
	}
	return nil
}

// setConditions patches the conditions of the object itself.
func (m *merger) setConditions(live members, own []metav1.Condition, types []string) error {
	merged, changed, err := m.conditions(live["conditions"], own, types)
	if err == nil && changed {
		m.patch["conditions"] = merged
	}
	return err
}

// encode returns the JSON of a value, in which raw messages keep their characters.
func encode(value any) (json.RawMessage, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buffer.Bytes(), "\n"), nil
}

// same reports whether two JSON values mean the same; what is absent, null and an empty list do.
func same(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) || empty(a) && empty(b) {
		return true
	}
	var one, other any
	return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil && reflect.DeepEqual(one, other)
}

func empty(value json.RawMessage) bool {
	text := string(bytes.TrimSpace(value))
	return text == "" || text == "null" || text == "[]"
}

// list returns the elements of a JSON list; an absent one has none.
func list(value json.RawMessage) ([]json.RawMessage, error) {
	if empty(value) {
		return nil, nil
	}
	var elements []json.RawMessage
	err := json.Unmarshal(value, &elements)
	return elements, err
}
