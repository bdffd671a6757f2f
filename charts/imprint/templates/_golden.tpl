{{/* SPDX-License-Identifier: Apache-2.0
Golden images. */}}

{{/* Whether this release serves cdi.kubevirt.io: where the definitions are its own; or, where it
installs none, unless another release serves them, which shows by its policy. */}}
{{- define "imprint.cdiServed" -}}
{{- if .Values.crds.install -}}
  {{- include "imprint.crd.cdiWanted" (dict "root" . "name" "datavolumes.cdi.kubevirt.io") -}}
{{- else if ne (toString .Values.crds.cdi) "false" -}}
  {{- $policy := lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicy" "" "clone-source.imprint.hypercloud.tmaxanc.com" -}}
  {{- if not $policy -}}true
  {{- else if eq (default "" (get (default dict $policy.metadata.annotations) "meta.helm.sh/release-name")) .Release.Name -}}true
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* The minute at which common images are looked for: chosen once, and kept in a ConfigMap. */}}
{{- define "imprint.goldenMinute" -}}
{{- $kept := lookup "v1" "ConfigMap" .Release.Namespace (printf "%s-golden-images" (include "imprint.name" .)) -}}
{{- if and $kept $kept.data -}}{{- get $kept.data "minute" -}}
{{- else -}}{{- randInt 0 60 -}}
{{- end -}}
{{- end -}}

{{/* A DataImportCron of {root, template, schedule}. What was imported stays when it is taken out of the
values. */}}
{{- define "imprint.dataImportCron" -}}
{{- $spec := merge (deepCopy .template.spec) (dict "schedule" .schedule "retentionPolicy" "All") -}}
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataImportCron
metadata:
  name: {{ .template.metadata.name }}
  namespace: {{ default .root.Values.goldenImages.namespace .template.metadata.namespace | default .root.Release.Namespace }}
  labels:
    {{- include "imprint.labels" .root | nindent 4 }}
    {{- with .template.metadata.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .template.metadata.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- toYaml $spec | nindent 2 }}
{{- end -}}
