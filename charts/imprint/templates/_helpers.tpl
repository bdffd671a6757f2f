{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* What every object's name begins with. One installation of a driver name is enough for a cluster,
so the release's name is used as it is. */}}
{{- define "imprint.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "imprint.labels" -}}
{{ include "imprint.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: imprint
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* What tells our pods from others; never changes between versions. */}}
{{- define "imprint.selector" -}}
app.kubernetes.io/name: imprint
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* image (dict "root" $ "image" .Values.x.image): repository:tag, the chart's version by default. */}}
{{- define "imprint.image" -}}
{{- $tag := default .root.Chart.AppVersion .image.tag -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ $tag }}
{{- end -}}
{{- end -}}

{{- define "imprint.clustersSecret" -}}
{{- default (printf "%s-clusters" (include "imprint.name" .)) .Values.existingClustersSecret -}}
{{- end -}}

{{/* The pods begin anew when what they read only at start has changed. The clusters are read again
while running, and are no reason. */}}
{{- define "imprint.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* auto: when the API server serves that group; true and false say so. (dict "root" $ "wish"
"auto" "api" "monitoring.coreos.com/v1/PrometheusRule"). */}}
{{- define "imprint.wanted" -}}
{{- if eq (toString .wish) "true" -}}true
{{- else if and (eq (toString .wish) "auto") (.root.Capabilities.APIVersions.Has .api) -}}true
{{- end -}}
{{- end -}}
