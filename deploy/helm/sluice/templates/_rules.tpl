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
{{- end }}

{{- define "sluice.subjects" -}}
- kind: ServiceAccount
  name: {{ include "sluice.serviceAccount" . }}
  namespace: {{ include "sluice.namespace" . }}
{{- end }}
