{{/* The static configuration: what the values imply, and over it what `configuration` says. */}}
{{- define "sluice.configuration" -}}
{{- $entryPoints := dict }}
{{- $lifeCycle := dict
      "requestAcceptGraceTimeout" (printf "%ds" (int .Values.lifeCycle.requestAcceptGraceTimeout))
      "graceTimeOut" (printf "%ds" (int .Values.lifeCycle.graceTimeOut)) }}
{{- range $name, $port := .Values.ports }}
{{- $address := include "sluice.address" (dict "root" $ "port" $port) }}
{{- if eq ($port.protocol | default "TCP") "UDP" }}
{{- $address = printf "%s/udp" $address }}
{{- end }}
{{- $entryPoint := dict "address" $address "transport" (dict "lifeCycle" (deepCopy $lifeCycle)) }}
{{- if $port.http3 }}
{{- $_ := set $entryPoint "http3" (dict "advertisedPort" (int ($port.exposedPort | default $port.hostPort | default 0))) }}
{{- end }}
{{- $_ := set $entryPoints $name $entryPoint }}
{{- end }}
{{- $providers := dict }}
{{- $written := .Values.configuration.providers | default dict }}
{{- range $name := list "kubernetesCRD" "kubernetesIngress" }}
{{- if and $.Values.namespaces (hasKey $written $name) }}
{{- $_ := set $providers $name (dict "namespaces" $.Values.namespaces "disableClusterScopeResources" true) }}
{{- end }}
{{- end }}
{{- if and .Values.namespaces (eq (include "sluice.gateway" .) "true") }}
{{- $_ := set $providers "kubernetesGateway" (dict "namespaces" $.Values.namespaces) }}
{{- end }}
{{- $service := printf "%s/%s" (include "sluice.namespace" .) (include "sluice.fullname" .) }}
{{- if eq (include "sluice.nginx" .) "true" }}
{{- $nginx := dict }}
{{- range $option, $name := dict "httpEntryPoint" "web" "httpsEntryPoint" "websecure" }}
{{- if hasKey $.Values.ports $name }}
{{- $_ := set $nginx $option $name }}
{{- end }}
{{- end }}
{{- if .Values.namespaces }}
{{- $_ := set $nginx "watchNamespace" (join "," .Values.namespaces) }}
{{- end }}
{{- if and (eq .Values.exposure "service") (not (get $written.kubernetesIngressNGINX "publishStatusAddress")) }}
{{- $_ := set $nginx "publishService" $service }}
{{- end }}
{{- $_ := set $providers "kubernetesIngressNGINX" $nginx }}
{{- end }}
{{- if and (eq .Values.exposure "service") (hasKey $written "kubernetesIngress") }}
{{- $ingress := get $providers "kubernetesIngress" | default dict }}
{{- $_ := set $ingress "ingressEndpoint" (dict "publishedService" $service) }}
{{- $_ := set $providers "kubernetesIngress" $ingress }}
{{- end }}
{{- if .Values.fileProvider.enabled }}
{{- $_ := set $providers "file" (dict "directory" (include "sluice.dynamicFolder" .)) }}
{{- end }}
{{- $implied := dict "entryPoints" $entryPoints "providers" $providers }}
{{- if .Values.dashboard.enabled }}
{{- $_ := set $implied "api" (dict "dashboard" true) }}
{{- end }}
{{- if .Values.xds.enabled }}
{{- $_ := set $implied "xds" (include "sluice.xds" . | fromYaml) }}
{{- end }}
{{- if .Values.handover.enabled }}
{{- $_ := set $implied "handover" (dict "socket" "/run/sluice/sluice.sock" "drain" (printf "%ds" (int .Values.handover.drain)) "stay" true) }}
{{- end }}
{{- mergeOverwrite $implied (deepCopy .Values.configuration) | toYaml }}
{{- end }}

{{/* The address of an entrypoint. With hostNetwork it is an address of the node. Arguments: root and port (values). */}}
{{- define "sluice.address" -}}
{{- $host := ternary .port.hostIP "" .root.Values.hostNetwork | default "" }}
{{- printf (ternary "[%s]:%d" "%s:%d" (contains ":" $host)) $host (int .port.port) }}
{{- end }}

{{/* The option xds. */}}
{{- define "sluice.xds" -}}
{{- $xds := .Values.xds }}
{{- $authenticated := or $xds.clientCASecret $xds.tokenReview }}
{{- if not (or $xds.allowInsecure (and $xds.tlsSecret $authenticated)) }}
{{- fail "xds: set xds.tlsSecret with xds.clientCASecret or xds.tokenReview, or xds.allowInsecure=true" }}
{{- end }}
{{- if and $xds.clientCASecret (not $xds.tlsSecret) }}
{{- fail "xds.clientCASecret needs xds.tlsSecret" }}
{{- end }}
{{- $option := dict "address" (printf ":%d" (int $xds.port)) }}
{{- if $xds.allowInsecure }}
{{- $_ := set $option "allowInsecure" true }}
{{- end }}
{{- if $xds.tlsSecret }}
{{- $tls := dict "certFile" "/etc/sluice-xds/tls/tls.crt" "keyFile" "/etc/sluice-xds/tls/tls.key" }}
{{- if $xds.clientCASecret }}
{{- $_ := set $tls "caFiles" (list "/etc/sluice-xds/clients/ca.crt") }}
{{- end }}
{{- $_ := set $option "tls" $tls }}
{{- end }}
{{- if $xds.tokenReview }}
{{- $_ := set $option "tokenReview" dict }}
{{- end }}
{{- with $xds.clients }}
{{- $_ := set $option "clients" . }}
{{- end }}
{{- $option | toYaml }}
{{- end }}

{{/* The folder of the file provider. It cannot be within that of the static configuration, which is a volume itself. */}}
{{- define "sluice.dynamicFolder" -}}
/etc/sluice.d
{{- end }}
