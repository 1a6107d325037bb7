package status

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// mostMessage is the length of a condition's message, in characters, that the API accepts.
const mostMessage = 32768

// The types of conditions that this controller sets, and removes where they do not apply. All others are those of other
// writers.
var (
	classConditions = []string{
		string(gatewayv1.GatewayClassConditionStatusAccepted), string(gatewayv1.GatewayClassConditionStatusSupportedVersion),
	}
	gatewayConditions = []string{
		string(gatewayv1.GatewayConditionAccepted), string(gatewayv1.GatewayConditionProgrammed),
		string(gatewayv1.GatewayConditionResolvedRefs), string(gatewayv1.GatewayConditionInsecureFrontendValidationMode),
	}
	listenerConditions = []string{
		string(gatewayv1.ListenerConditionAccepted), string(gatewayv1.ListenerConditionConflicted),
		string(gatewayv1.ListenerConditionResolvedRefs), string(gatewayv1.ListenerConditionProgrammed),
		string(gatewayv1.ListenerConditionOverlappingTLSConfig),
	}
	entryConditions = []string{
		string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs),
		string(gatewayv1.RouteConditionPartiallyInvalid),
	}
)

// conditions returns the live conditions with this controller's: those of other types keep their places and bytes, and
// one that has not changed in status keeps its time of transition.
func (m *merger) conditions(
	live json.RawMessage, own []metav1.Condition, types []string,
) (merged json.RawMessage, changed bool, err error) {
	elements, err := list(live)
	if err != nil {
		return nil, false, err
	}
	result := make([]json.RawMessage, 0, len(elements)+len(own))
	written := make([]bool, len(own))
	for _, element := range elements {
		var before metav1.Condition
		if err := json.Unmarshal(element, &before); err != nil {
			return nil, false, err
		}
		at := slices.IndexFunc(own, func(c metav1.Condition) bool { return c.Type == before.Type })
		if at < 0 && !slices.Contains(types, before.Type) {
			m.foreign = true
			result = append(result, element)
			continue
		}
		m.stale = m.stale || before.ObservedGeneration > m.desired.Generation
		if at < 0 || written[at] {
			changed = true
			continue
		}
		written[at] = true
		after := m.condition(own[at])
		if after.Status == before.Status {
			after.LastTransitionTime = before.LastTransitionTime
		}
		if after == before {
			result = append(result, element)
			continue
		}
		changed = true
		encoded, err := encode(after)
		if err != nil {
			return nil, false, err
		}
		result = append(result, encoded)
	}
	for i, condition := range own {
		if written[i] {
			continue
		}
		changed = true
		encoded, err := encode(m.condition(condition))
		if err != nil {
			return nil, false, err
		}
		result = append(result, encoded)
	}
	merged, err = encode(result)
	return merged, changed, err
}

// condition completes a desired condition as one that changes now.
func (m *merger) condition(desired metav1.Condition) metav1.Condition {
	desired.LastTransitionTime = m.now
	desired.ObservedGeneration = m.desired.Generation
	if utf8.RuneCountInString(desired.Message) > mostMessage {
		desired.Message = string([]rune(desired.Message)[:mostMessage])
	}
	return desired
}
