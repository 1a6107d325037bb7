{{/* The static configuration: what the values imply, and over it what `configuration` says. */}}
{{- define "sluice.configuration" -}}
{{- $entryPoints := dict }}
{{- $lifeCycle := dict
      "requestAcceptGraceTimeout" (printf "%ds" (int .Values.lifeCycle.requestAcceptGraceTimeout))
      "graceTimeOut" (printf "%ds" (int .Values.lifeCycle.graceTimeOut)) }}
{{- range $name, $port := .Values.ports }}
{{- $address := printf ":%d" (int $port.port) }}
{{- $_ := set $entryPoints $name (dict "address" $address "transport" (dict "lifeCycle" (deepCopy $lifeCycle))) }}
{{- end }}
{{- $providers := dict }}
{{- $written := .Values.configuration.providers | default dict }}
{{- range $name := list "kubernetesCRD" "kubernetesIngress" }}
{{- if and $.Values.namespaces (hasKey $written $name) }}
{{- $_ := set $providers $name (dict "namespaces" $.Values.namespaces "disableClusterScopeResources" true) }}
{{- end }}
{{- end }}
{{- if and (eq .Values.exposure "service") (hasKey $written "kubernetesIngress") }}
{{- $service := printf "%s/%s" .Release.Namespace (include "sluice.fullname" .) }}
{{- $ingress := get $providers "kubernetesIngress" | default dict }}
{{- $_ := set $ingress "ingressEndpoint" (dict "publishedService" $service) }}
{{- $_ := set $providers "kubernetesIngress" $ingress }}
{{- end }}
{{- $implied := dict "entryPoints" $entryPoints "providers" $providers }}
{{- mergeOverwrite $implied (deepCopy .Values.configuration) | toYaml }}
{{- end }}
