{{/* The hand-over of sockets between two pods of a node: what excludes it. */}}
{{- define "sluice.handoverChecks" -}}
{{- $values := .Values }}
{{- if ne $values.workload.kind "DaemonSet" }}
{{- fail "handover: the pods of one node are wanted beside each other; set workload.kind=DaemonSet, or exposure=service without handover" }}
{{- end }}
{{- if not $values.hostNetwork }}
{{- fail "handover: without hostNetwork a socket belongs to the network namespace of its pod, and ends with it; set hostNetwork=true, or exposure=service without handover" }}
{{- end }}
{{- if eq (toString $values.hostUsers) "false" }}
{{- fail "handover: hostNetwork excludes hostUsers=false" }}
{{- end }}
{{- if hasKey $values.configuration "handover" }}
{{- fail "configuration.handover: set the values of handover instead, from which the volume and the grace period of the pod follow" }}
{{- end }}
{{- range $kind := list "containers" "initContainers" }}
{{- range get $values $kind }}
{{- if .ports }}
{{- fail (printf "%s: with hostNetwork the ports of the container %s are those of the node, which two pods cannot have; leave ports out" $kind .name) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $values.updateStrategy (not (hasKey ($values.updateStrategy.rollingUpdate | default dict) "maxSurge")) }}
{{- fail "updateStrategy: without maxSurge the old pod ends before the new one starts, and nothing is handed over; set rollingUpdate.maxSurge and maxUnavailable=0" }}
{{- end }}
{{- range $probe := list "readinessProbe" "startupProbe" }}
{{- if hasKey (get $values $probe) "httpGet" }}
{{- fail (printf "%s.httpGet: with handover it would reach the old pod; the probe runs sluice healthcheck --handover" $probe) }}
{{- end }}
{{- end }}
{{- include "sluice.handoverUser" . }}
{{- end }}

{{/* The user of the process must own the directory of the socket. The kubelet makes directories for root. */}}
{{- define "sluice.handoverUser" -}}
{{- $pod := .Values.podSecurityContext }}
{{- $own := .Values.securityContext }}
{{- $user := $pod.runAsUser }}
{{- if hasKey $own "runAsUser" }}
{{- $user = $own.runAsUser }}
{{- end }}
{{- $root := eq (toString $user) "0" }}
{{- if and (not $root) (ne .Values.handover.directory.type "Directory") }}
{{- fail (printf "handover: the kubelet makes the directory of the socket for root, and the process runs as user %v; set podSecurityContext.runAsUser=0 and runAsNonRoot=false in podSecurityContext and securityContext, or make the directory for that user on every node and set handover.directory.type=Directory" $user) }}
{{- end }}
{{- if and $root (or $own.runAsNonRoot (and $pod.runAsNonRoot (not (hasKey $own "runAsNonRoot")))) }}
{{- fail "handover: user 0 needs runAsNonRoot=false in podSecurityContext and securityContext" }}
{{- end }}
{{- end }}

{{/* The directory of the node for the socket. Two releases of a node must not share one. */}}
{{- define "sluice.handoverDirectory" -}}
{{- .Values.handover.directory.path | default (printf "/run/sluice-pods/%s/%s" (include "sluice.namespace" .) (include "sluice.fullname" .)) }}
{{- end }}

{{/* The name of a port, which is its number where the container declares none. Arguments: root and port. */}}
{{- define "sluice.port" -}}
{{- $port := .port }}
{{- if and .root.Values.handover.enabled (kindIs "string" $port) }}
{{- $port = get .root.Values.ports $port | required (printf "there is no port %s" $port) | dig "port" 0 | int }}
{{- end }}
{{- $port }}
{{- end }}

{{/* How long the kubelet waits for the end of a pod: it may drain after SIGTERM, or since a hand-over. */}}
{{- define "sluice.gracePeriod" -}}
{{- $end := add .Values.lifeCycle.requestAcceptGraceTimeout .Values.lifeCycle.graceTimeOut }}
{{- if .Values.handover.enabled }}
{{- $end = max $end .Values.handover.drain }}
{{- end }}
{{- add $end 5 }}
{{- end }}
