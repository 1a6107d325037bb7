{{/* The kinds of each of the three API groups. */}}
{{- define "sluice.kinds" -}}
- ingressroutes
- ingressroutetcps
- ingressrouteudps
- middlewares
- middlewaretcps
- traefikservices
- serverstransports
- serverstransporttcps
- tlsoptions
- tlsstores
{{- end }}

{{/* What has no namespace. */}}
{{- define "sluice.clusterRules" -}}
- apiGroups:
    - ""
  resources:
    - nodes
  verbs:
    - list
    - watch
- apiGroups:
    - networking.k8s.io
  resources:
    - ingressclasses
  verbs:
    - list
    - watch
{{- if eq (include "sluice.gateway" .) "true" }}
{{ include "sluice.gatewayClusterRules" . }}
{{- else if include "sluice.nginxNamespaceSelector" . }}
{{ include "sluice.namespaceRule" . }}
{{- end }}
{{- end }}

{{/* What has no namespace and is read where the namespaces are listed; empty when that is nothing. */}}
{{- define "sluice.namespacedClusterRules" -}}
{{- if eq (include "sluice.nginx" .) "true" }}
- apiGroups:
    - networking.k8s.io
  resources:
    - ingressclasses
  verbs:
    - list
    - watch
{{- end }}
{{- if eq (include "sluice.gateway" .) "true" }}
{{ include "sluice.gatewayClusterRules" . }}
{{- end }}
{{- end }}

{{/* The labels of namespaces. */}}
{{- define "sluice.namespaceRule" -}}
- apiGroups:
    - ""
  resources:
    - namespaces
  verbs:
    - list
    - watch
{{- end }}

{{/* Whether the provider for Ingresses of ingress-nginx is on, and by which labels it selects namespaces. */}}
{{- define "sluice.nginx" -}}
{{- kindIs "map" (dig "providers" "kubernetesIngressNGINX" false .Values.configuration) }}
{{- end }}
{{- define "sluice.nginxNamespaceSelector" -}}
{{- if eq (include "sluice.nginx" .) "true" }}
{{- .Values.configuration.providers.kubernetesIngressNGINX.watchNamespaceSelector | default "" }}
{{- end }}
{{- end }}

{{/* What of the Gateway API has no namespace. */}}
{{- define "sluice.gatewayClusterRules" -}}
{{ include "sluice.namespaceRule" . }}
- apiGroups:
    - gateway.networking.k8s.io
  resources:
    - gatewayclasses
  verbs:
    - get
    - list
    - watch
    - patch
- apiGroups:
    - gateway.networking.k8s.io
  resources:
    - gatewayclasses/status
  verbs:
    - patch
- apiGroups:
    - apiextensions.k8s.io
  resources:
    - customresourcedefinitions
  resourceNames:
    - gatewayclasses.gateway.networking.k8s.io
  verbs:
    - list
    - watch
{{- end }}

{{/* Whether the provider of the Gateway API is on. */}}
{{- define "sluice.gateway" -}}
{{- kindIs "map" (dig "providers" "kubernetesGateway" false .Values.configuration) }}
{{- end }}

{{/* How Gateways are exposed. */}}
{{- define "sluice.gatewayExposure" -}}
{{- dig "providers" "kubernetesGateway" "exposure" "service" .Values.configuration }}
{{- end }}

{{/* Whether all Gateways share one Service or address. */}}
{{- define "sluice.gatewaysMerged" -}}
{{- dig "providers" "kubernetesGateway" "mergeGateways" false .Values.configuration }}
{{- end }}

{{/* The kinds of the Gateway API that have a namespace and a status. */}}
{{- define "sluice.gatewayKinds" -}}
{{- range list "gateways" "listenersets" "httproutes" "grpcroutes" "tlsroutes" "tcproutes" "udproutes" "backendtlspolicies" }}
- {{ . }}{{ $ }}
{{- end }}
{{- end }}

{{/* What the Gateway API needs in each namespace. */}}
{{- define "sluice.gatewayRules" -}}
- apiGroups:
    - gateway.networking.k8s.io
  resources:
    {{- include "sluice.gatewayKinds" "" | trim | nindent 4 }}
  verbs:
    - get
    - list
    - watch
- apiGroups:
    - gateway.networking.k8s.io
  resources:
    - referencegrants
  verbs:
    - list
    - watch
- apiGroups:
    - gateway.networking.k8s.io
  resources:
    {{- include "sluice.gatewayKinds" "/status" | trim | nindent 4 }}
  verbs:
    - patch
{{- if and (eq (include "sluice.gatewayExposure" .) "service") (ne (include "sluice.gatewaysMerged" .) "true") }}
{{ include "sluice.gatewayServiceRules" . }}
{{- end }}
{{- end }}

{{/* What the exposure service writes where its Services are. */}}
{{- define "sluice.gatewayServiceRules" -}}
- apiGroups:
    - ""
  resources:
    - services
  verbs:
    - create
    - patch
    - delete
- apiGroups:
    - discovery.k8s.io
  resources:
    - endpointslices
  verbs:
    - create
    - patch
{{- end }}

{{/* What the Gateway API needs in Sluice's own namespace beyond the rules of each namespace; empty when that is nothing. */}}
{{- define "sluice.gatewayOwnRules" -}}
{{- if eq (include "sluice.gateway" .) "true" }}
{{- $exposure := include "sluice.gatewayExposure" . }}
{{- $merged := and (eq $exposure "service") (eq (include "sluice.gatewaysMerged" .) "true") }}
{{- $unread := and .Values.namespaces (not (has (include "sluice.namespace" .) .Values.namespaces)) }}
{{- if and $unread (ne $exposure "pool") }}
{{- /* Gateways are reached by way of these pods, or of their nodes. */}}
- apiGroups:
    - ""
  resources:
    - pods
  verbs:
    - list
    - watch
{{- end }}
{{- if and $unread $merged }}
- apiGroups:
    - ""
  resources:
    - services
  verbs:
    - list
    - watch
{{- end }}
{{- if $merged }}
{{ include "sluice.gatewayServiceRules" . }}
{{- end }}
{{- end }}
{{- end }}

{{/* What Sluice reads and reports in each namespace. docs/kubernetes.md says what each rule is for. */}}
{{- define "sluice.rules" -}}
- apiGroups:
    - ""
  resources:
    - services
    - endpoints
    - secrets
    - configmaps
  verbs:
    - list
    - watch
- apiGroups:
    - discovery.k8s.io
  resources:
    - endpointslices
  verbs:
    - list
    - watch
- apiGroups:
    - env.alibaba.com
  resources:
    - virtualenvironments
  verbs:
    - list
    - watch
- apiGroups:
    - ""
  resources:
    - pods
  verbs:
    - list
    - watch
- apiGroups:
    - networking.k8s.io
  resources:
    - ingresses
  verbs:
    - list
    - watch
- apiGroups:
    - traefik.io
    - traefik.containo.us
    - sluice.dev
  resources:
    {{- include "sluice.kinds" . | nindent 4 }}
  verbs:
    - list
    - watch
- apiGroups:
    - networking.k8s.io
  resources:
    - ingresses/status
  verbs:
    - patch
- apiGroups:
    - sluice.dev
  resources:
    - ingressroutes/status
    - ingressroutetcps/status
    - ingressrouteudps/status
    - middlewares/status
    - middlewaretcps/status
    - traefikservices/status
    - serverstransports/status
    - serverstransporttcps/status
    - tlsoptions/status
    - tlsstores/status
  verbs:
    - patch
- apiGroups:
    - env.alibaba.com
  resources:
    - virtualenvironments/status
  verbs:
    - patch
- apiGroups:
    - ""
  resources:
    - events
  verbs:
    - create
    - patch
{{- if eq (include "sluice.gateway" .) "true" }}
{{ include "sluice.gatewayRules" . }}
{{- end }}
{{- end }}

{{- define "sluice.subjects" -}}
- kind: ServiceAccount
  name: {{ include "sluice.serviceAccount" . }}
  namespace: {{ include "sluice.namespace" . }}
{{- end }}
