{{/* SPDX-License-Identifier: Apache-2.0
Gives a ClusterRole of that name to the controller's service account. */}}
{{- define "imprint.controllerBinding" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "imprint.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ include "imprint.name" .root }}-controller
  namespace: {{ .root.Release.Namespace }}
{{- end -}}
