{{/* The pod template, which the DaemonSet and the Deployment share. */}}
{{- define "sluice.pod" -}}
{{- $hostPorts := eq .Values.exposure "hostPort" }}
metadata:
  labels:
    {{- include "sluice.selector" . | nindent 4 }}
    {{- with .Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- /* The configuration is read once: another one means other pods. */}}
    checksum/configuration: {{ include "sluice.configuration" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  serviceAccountName: {{ include "sluice.serviceAccount" . }}
  automountServiceAccountToken: true
  enableServiceLinks: false
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- if .Values.hostNetwork }}
  hostNetwork: true
  {{- end }}
  {{- if not (kindIs "invalid" .Values.hostUsers) }}
  hostUsers: {{ .Values.hostUsers }}
  {{- end }}
  {{- if .Values.shareProcessNamespace }}
  shareProcessNamespace: true
  {{- end }}
  {{- with .Values.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "" .Values.hostNetwork) }}
  dnsPolicy: {{ . }}
  {{- end }}
  {{- with .Values.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ include "sluice.gracePeriod" . }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.topologySpreadConstraints }}
  {{- $selector := dict "labelSelector" (dict "matchLabels" (include "sluice.selector" . | fromYaml)) }}
  topologySpreadConstraints:
    {{- range .Values.topologySpreadConstraints }}
    - {{ merge (deepCopy .) $selector | toYaml | nindent 6 | trim }}
    {{- end }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: sluice
      image: {{ include "sluice.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - --configFile=/etc/sluice/sluice.yaml
        {{- with .Values.args }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      env:
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        - name: NODE_NAME
          valueFrom:
            fieldRef:
              fieldPath: spec.nodeName
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- /* With hostNetwork, a declared port is one of the node, which two pods cannot have. */}}
      {{- if not .Values.handover.enabled }}
      ports:
        {{- range $name, $port := .Values.ports }}
        - name: {{ $name }}
          containerPort: {{ $port.port }}
          {{- $hostPort := $port.hostPort | default (ternary $port.exposedPort nil $hostPorts) }}
          {{- if and $hostPort (not $.Values.hostNetwork) }}
          hostPort: {{ $hostPort }}
          {{- with $port.hostIP }}
          hostIP: {{ . | quote }}
          {{- end }}
          {{- end }}
          protocol: {{ $port.protocol | default "TCP" }}
        {{- if $port.http3 }}
        - containerPort: {{ $port.port }}
          {{- if and $hostPort (not $.Values.hostNetwork) }}
          hostPort: {{ $hostPort }}
          {{- with $port.hostIP }}
          hostIP: {{ . | quote }}
          {{- end }}
          {{- end }}
          protocol: UDP
        {{- end }}
        {{- end }}
        {{- if .Values.xds.enabled }}
        - name: xds
          containerPort: {{ .Values.xds.port }}
          protocol: TCP
        {{- end }}
      {{- end }}
      readinessProbe:
        {{- include "sluice.ready" (dict "root" . "path" "/ready" "probe" .Values.readinessProbe) | nindent 8 }}
      livenessProbe:
        {{- include "sluice.probe" (dict "root" . "path" "/ping" "probe" .Values.livenessProbe) | nindent 8 }}
      {{- with .Values.startupProbe }}
      startupProbe:
        {{- include "sluice.ready" (dict "root" $ "path" "/ping" "probe" .) | nindent 8 }}
      {{- end }}
      {{- with .Values.lifecycle }}
      lifecycle:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      volumeMounts:
        - name: configuration
          {{- if .Values.handover.enabled }}
          {{- /* A file does not change with the ConfigMap: the probe of the old pod must not read the options of the new one. */}}
          mountPath: /etc/sluice/sluice.yaml
          subPath: sluice.yaml
          {{- else }}
          mountPath: /etc/sluice
          {{- end }}
          readOnly: true
        {{- if .Values.fileProvider.enabled }}
        - name: dynamic
          mountPath: {{ include "sluice.dynamicFolder" . }}
          readOnly: true
        {{- end }}
        {{- if and .Values.xds.enabled .Values.xds.tlsSecret }}
        - name: xds-tls
          mountPath: /etc/sluice-xds/tls
          readOnly: true
        {{- end }}
        {{- if and .Values.xds.enabled .Values.xds.clientCASecret }}
        - name: xds-clients
          mountPath: /etc/sluice-xds/clients
          readOnly: true
        {{- end }}
        {{- if .Values.handover.enabled }}
        - name: handover
          mountPath: /run/sluice
        {{- end }}
        - name: temporary # what buffering keeps on disk
          mountPath: /tmp
        {{- with .Values.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- with .Values.containers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    - name: configuration
      configMap:
        name: {{ .Values.existingConfigMap | default (include "sluice.fullname" .) }}
    {{- if .Values.fileProvider.enabled }}
    - name: dynamic
      configMap:
        name: {{ .Values.fileProvider.existingConfigMap | default (printf "%s-dynamic" (include "sluice.fullname" .)) }}
    {{- end }}
    {{- if and .Values.xds.enabled .Values.xds.tlsSecret }}
    - name: xds-tls
      secret:
        secretName: {{ .Values.xds.tlsSecret }}
    {{- end }}
    {{- if and .Values.xds.enabled .Values.xds.clientCASecret }}
    - name: xds-clients
      secret:
        secretName: {{ .Values.xds.clientCASecret }}
        items:
          - key: ca.crt
            path: ca.crt
    {{- end }}
    {{- if .Values.handover.enabled }}
    - name: handover
      hostPath:
        path: {{ include "sluice.handoverDirectory" . }}
        type: {{ .Values.handover.directory.type }}
    {{- end }}
    - name: temporary
      {{- toYaml .Values.temporaryVolume | nindent 6 }}
    {{- with .Values.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* A probe. Arguments: root, path and probe (values). Without a host, the kubelet asks the address of the pod, which with
hostNetwork is that of the node: an entrypoint on another address needs that one. */}}
{{- define "sluice.probe" -}}
{{- $probe := mergeOverwrite (dict "httpGet" (dict "path" .path "port" "traefik")) (deepCopy .probe) }}
{{- $host := dig (toString $probe.httpGet.port) "hostIP" "" .root.Values.ports }}
{{- if and .root.Values.hostNetwork $host (not (has $host (list "0.0.0.0" "::"))) (not $probe.httpGet.host) }}
{{- $_ := set $probe.httpGet "host" $host }}
{{- end }}
{{- $_ := set $probe.httpGet "port" (include "sluice.port" (dict "root" .root "port" $probe.httpGet.port) | atoi | default $probe.httpGet.port) }}
{{- toYaml $probe }}
{{- end }}

{{/* A probe of a pod of its own, with the arguments of sluice.probe. A request to the node would reach the pod that hands over. */}}
{{- define "sluice.ready" -}}
{{- if .root.Values.handover.enabled }}
{{- $command := concat (list "/sluice" "healthcheck" "--handover" "--configFile=/etc/sluice/sluice.yaml") .root.Values.args }}
{{- mergeOverwrite (dict "exec" (dict "command" $command)) (deepCopy .probe) | toYaml }}
{{- else }}
{{- include "sluice.probe" . }}
{{- end }}
{{- end }}
