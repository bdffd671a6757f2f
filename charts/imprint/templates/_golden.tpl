{{/* SPDX-License-Identifier: Apache-2.0
Golden images. */}}

{{/* Whether the definitions that this release does not install are Imprint's: as it is said, or, with
"auto", by their label. CDI's own do not have it, and two must not serve one kind. */}}
{{- define "imprint.cdiIsOurs" -}}
{{- if eq (toString .Values.crds.cdi) "true" -}}true
{{- else if ne (toString .Values.crds.cdi) "false" -}}
  {{- $found := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "datavolumes.cdi.kubevirt.io" -}}
  {{- if $found -}}
    {{- if eq (default "" (get (default dict $found.metadata.labels) "app.kubernetes.io/part-of")) "imprint" -}}true{{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether this release serves cdi.kubevirt.io: where the definitions are its own; or, where it
installs none, if they are Imprint's and no other release serves them, which shows by its policy. */}}
{{- define "imprint.cdiServed" -}}
{{- if .Values.crds.install -}}
  {{- include "imprint.crd.cdiWanted" (dict "root" . "name" "datavolumes.cdi.kubevirt.io") -}}
{{- else if include "imprint.cdiIsOurs" . -}}
  {{- $policy := lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicy" "" "clone-source.imprint.hypercloud.tmaxanc.com" -}}
  {{- if not $policy -}}true
  {{- else if eq (default "" (get (default dict $policy.metadata.annotations) "meta.helm.sh/release-name")) .Release.Name -}}true
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* The one name of the ConfigMap with what the values ask for, and of what all of it belongs to. */}}
{{- define "imprint.goldenName" -}}
{{ include "imprint.name" . }}-golden-images
{{- end -}}

{{/* The minute at which common images are looked for: given, or as an older chart chose it and wrote it
down. Empty otherwise: the populator knows one that follows from the cluster, so that it is the same
however often the chart is rendered, and by what. */}}
{{- define "imprint.goldenMinute" -}}
{{- $given := toString .Values.goldenImages.minute -}}
{{- $kept := lookup "v1" "ConfigMap" .Release.Namespace (include "imprint.goldenName" .) -}}
{{- if ne $given "" -}}{{- $given -}}
{{- else if and $kept $kept.data -}}{{- get $kept.data "minute" -}}
{{- end -}}
{{- end -}}

{{/* An entry of the list of golden_wish.h, as JSON: {root, from, template, kind, name, spec}. */}}
{{- define "imprint.goldenObject" -}}
{{- $given := .template.metadata -}}
{{- $labels := dict "app.kubernetes.io/part-of" "imprint" "app.kubernetes.io/managed-by" "imprint-populator" -}}
{{- $labels = merge $labels (include "imprint.selector" .root | fromYaml) -}}
{{- $namespace := default .root.Values.goldenImages.namespace $given.namespace | default .root.Release.Namespace -}}
{{- $metadata := dict "name" .name "namespace" $namespace "labels" $labels -}}
{{- if eq .kind "DataImportCron" -}}
  {{- $_ := set $metadata "labels" (merge $labels (default dict $given.labels)) -}}
  {{- with $given.annotations -}}{{- $_ := set $metadata "annotations" . -}}{{- end -}}
{{- end -}}
{{- $spec := default (dict "source" (dict "pvc" (dict "namespace" $namespace "name" .name))) .spec -}}
{{- $object := dict "apiVersion" "cdi.kubevirt.io/v1beta1" "kind" .kind "metadata" $metadata "spec" $spec -}}
{{- dict "from" .from "object" $object | toJson -}}
{{- end -}}

{{/* All that the values ask for, as a list in JSON. A DataSource stands before the cron that may adopt it,
and stays when the import is turned on, which then points it elsewhere; so nobody finds nothing meanwhile.
What was imported stays when a cron is taken out of the values (retentionPolicy). */}}
{{- define "imprint.goldenObjects" -}}
{{- $root := . -}}
{{- $entries := list -}}
{{- $kept := dict "retentionPolicy" "All" -}}
{{- if ne (toString .Values.goldenImages.enabled) "false" -}}
  {{- range .Values.commonDataImportCronTemplates -}}
    {{- $from := printf "commonDataImportCronTemplates '%s'" .metadata.name -}}
    {{- $entries = append $entries (include "imprint.goldenObject" (dict "root" $root "from" $from "template" . "kind" "DataSource" "name" .spec.managedDataSource)) -}}
    {{- if $root.Values.enableCommonBootImageImport -}}
      {{- $entries = append $entries (include "imprint.goldenObject" (dict "root" $root "from" $from "template" . "kind" "DataImportCron" "name" .metadata.name "spec" (merge (deepCopy .spec) $kept))) -}}
    {{- end -}}
  {{- end -}}
  {{- range .Values.dataImportCronTemplates -}}
    {{- $from := printf "dataImportCronTemplates '%s'" .metadata.name -}}
    {{- $_ := required (printf "%s needs spec.schedule" $from) .spec.schedule -}}
    {{- $entries = append $entries (include "imprint.goldenObject" (dict "root" $root "from" $from "template" . "kind" "DataImportCron" "name" .metadata.name "spec" (merge (deepCopy .spec) $kept))) -}}
  {{- end -}}
{{- end -}}
[{{ join "," $entries }}]
{{- end -}}
