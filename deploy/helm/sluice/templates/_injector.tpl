{{/* The pods of the injector are not those of the router: their labels differ. */}}
{{- define "sluice.injectorSelector" -}}
app.kubernetes.io/name: {{ include "sluice.name" . }}-injector
app.kubernetes.io/instance: {{ default .Release.Name .Values.instanceLabelOverride }}
{{- end }}

{{- define "sluice.injectorLabels" -}}
{{ include "sluice.injectorSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sluice.injectorMetadata" -}}
labels:
  {{- include "sluice.injectorLabels" .root | nindent 2 }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The name of the MutatingWebhookConfiguration, which is one for the whole cluster. */}}
{{- define "sluice.injectorWebhook" -}}
{{- $name := printf "%s-injector" (include "sluice.fullname" .) }}
{{- if eq (include "sluice.namespace" .) (include "sluice.fullname" .) }}
{{- $name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" $name (include "sluice.namespace" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* The static configuration of the injector. */}}
{{- define "sluice.injectorOptions" -}}
{{- $name := printf "%s-injector" (include "sluice.fullname" .) | trunc 63 | trimSuffix "-" }}
{{- $given := .Values.injector }}
{{- $options := dict "config" "/etc/sluice-inject" "statusAddress" ":8080" "onError" $given.onError "service" $name
  "secret" (printf "%s-ca" $name) "webhookConfiguration" (include "sluice.injectorWebhook" .) }}
{{- if $given.tlsSecret }}
{{- $_ := set $options "tls" (dict "certFile" "/etc/sluice-tls/tls.crt" "keyFile" "/etc/sluice-tls/tls.key") }}
{{- end }}
{{- if $given.enforce.enabled }}
{{- $_ := set $options "enforce" (dict "namespace" $given.enforce.namespace "labels" $given.enforce.labels) }}
{{- end }}
{{- toYaml (dict "injector" $options "log" (dict "format" "json")) }}
{{- end }}
