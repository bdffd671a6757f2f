{{/* SPDX-License-Identifier: Apache-2.0
A CSI sidecar: (dict "root" $ "name" "csi-provisioner" "sidecar" .Values.sidecars.provisioner "port"
8081 "args" (list …)). Several replicas elect a leader; all serve metrics. */}}
{{- define "imprint.sidecar" -}}
- name: {{ .name }}
  image: {{ include "imprint.image" (dict "root" .root "image" .sidecar.image) }}
  imagePullPolicy: {{ .sidecar.image.pullPolicy }}
  args:
  - --csi-address=/csi/csi.sock
  - --leader-election
  - --leader-election-namespace={{ .root.Release.Namespace }}
  - --http-endpoint=:{{ .port }}
  - --timeout={{ .sidecar.timeout }}
  # the controller answers when it is asked again; it does not have to be spared
  - --retry-interval-max=1m
  - --kube-api-qps=50
  - --kube-api-burst=100
  {{- range concat .args .sidecar.extraArgs }}
  - {{ . }}
  {{- end }}
  ports:
  - {name: {{ .short }}, containerPort: {{ .port }}}
  livenessProbe:
    httpGet: {path: /healthz/leader-election, port: {{ .short }}}
    failureThreshold: 3
    periodSeconds: 20
    timeoutSeconds: 10
  securityContext:
    {{- include "imprint.lockedDown" .root | nindent 4 }}
  resources:
    {{- toYaml .sidecar.resources | nindent 4 }}
  volumeMounts:
  - {name: socket, mountPath: /csi}
{{- end -}}

{{- define "imprint.lockedDown" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}
