{{/* SPDX-License-Identifier: Apache-2.0
Parts of schemas that several kinds share. Each is a piece of YAML without indentation; `indent`
puts it in place. */}}

{{/* The head of a definition. Removing the release keeps them, because removing a definition removes
every object of the kind, and those belong to the users. */}}
{{- define "imprint.crd.metadata" -}}
metadata:
  name: {{ .name }}
  labels:
    {{- include "imprint.labels" .root | nindent 4 }}
  annotations:
    helm.sh/resource-policy: keep
{{- end -}}

{{/* Whether to install the definitions of cdi.kubevirt.io: "auto" leaves those alone that somebody
else (CDI itself) has installed. */}}
{{- define "imprint.crd.cdiWanted" -}}
{{- $root := .root -}}
{{- if and $root.Values.crds.install (ne (toString $root.Values.crds.cdi) "false") -}}
  {{- if eq (toString $root.Values.crds.cdi) "true" -}}true
  {{- else -}}
    {{- $found := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .name -}}
    {{- $annotations := dict -}}
    {{- if $found }}{{- $annotations = default dict $found.metadata.annotations -}}{{- end -}}
    {{- if not $found -}}true
    {{- else if eq (default "" (get $annotations "meta.helm.sh/release-name")) $root.Release.Name -}}true
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- define "imprint.schema.quantity" -}}
x-kubernetes-int-or-string: true
anyOf: [{type: integer}, {type: string}]
pattern: '^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$'
{{- end -}}

{{/* A Secret, ConfigMap or other object of the same namespace, by name. */}}
{{- define "imprint.schema.name" -}}
type: string
minLength: 1
maxLength: 253
{{- end -}}

{{- define "imprint.schema.url" -}}
type: string
minLength: 1
maxLength: 4096
{{- end -}}

{{- define "imprint.schema.conditions" -}}
type: array
description: What is known about the object; the message says what to do where something is wrong.
maxItems: 32
x-kubernetes-list-type: map
x-kubernetes-list-map-keys: [type]
items:
  type: object
  required: [type, status]
  properties:
    type: {type: string, maxLength: 316, description: What it speaks of.}
    status: {type: string, enum: ["True", "False", Unknown], description: Whether it is so.}
    reason: {type: string, maxLength: 1024, description: One word for programs.}
    message: {type: string, maxLength: 32768, description: A sentence for people.}
    lastTransitionTime: {type: string, format: date-time, description: Since when.}
    lastHeartbeatTime: {type: string, format: date-time, description: Not written.}
    observedGeneration: {type: integer, format: int64, minimum: 0, description: Of which generation.}
{{- end -}}

{{/* state, progress and conditions: what the status of all kinds of hypercloud.tmaxanc.com has. */}}
{{- define "imprint.schema.commonStatus" -}}
state:
  type: string
  description: The object's state in one word.
  maxLength: 63
progress:
  type: string
  description: 'How much of the work is done, like "42.1%".'
conditions:
  {{- include "imprint.schema.conditions" . | nindent 2 }}
observedGeneration:
  type: integer
  format: int64
  description: The generation that this status speaks of.
attempts:
  type: integer
  description: How often it failed since it was last changed.
retryAt:
  type: string
  format: date-time
  description: When it is tried again.
lastRetryRequest:
  type: string
  description: What the annotation imprint.hypercloud.tmaxanc.com/retry was at the last failure.
{{- end -}}

{{/* The parts of a PersistentVolumeClaimSpec. */}}
{{- define "imprint.schema.claim" -}}
type: object
properties:
  accessModes:
    type: array
    description: How it is used, as in a PersistentVolumeClaim; all that follows likewise.
    maxItems: 4
    x-kubernetes-list-type: set
    items:
      type: string
      enum: [ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod]
  resources:
    type: object
    description: Its size.
    properties:
      requests:
        type: object
        description: 'storage: at least so much, like 10Gi.'
        maxProperties: 16
        additionalProperties:
          {{- include "imprint.schema.quantity" . | nindent 10 }}
      limits:
        type: object
        description: 'storage: at most so much.'
        maxProperties: 16
        additionalProperties:
          {{- include "imprint.schema.quantity" . | nindent 10 }}
  storageClassName:
    type: string
    description: A StorageClass of this driver; the default one if empty.
    maxLength: 253
  volumeMode:
    type: string
    description: A block device, or a filesystem on one.
    enum: [Block, Filesystem]
  volumeAttributesClassName:
    type: string
    description: Limits of the volume, by a class.
    maxLength: 253
  volumeName:
    type: string
    description: A PersistentVolume that is there, in place of a new one.
    maxLength: 253
  selector:
    type: object
    description: Which PersistentVolumes would do, by their labels.
    properties:
      matchLabels:
        type: object
        description: Labels, each with its value.
        maxProperties: 64
        additionalProperties: {type: string, maxLength: 63}
      matchExpressions:
        type: array
        description: Rules about labels; all must hold.
        maxItems: 64
        items:
          type: object
          required: [key, operator]
          properties:
            key: {type: string, maxLength: 317, description: The label.}
            operator: {type: string, maxLength: 32, description: "In, NotIn, Exists or DoesNotExist."}
            values:
              type: array
              description: Of the label.
              maxItems: 64
              items: {type: string, maxLength: 63}
  dataSource:
    type: object
    description: Another way to fill it, a claim or a snapshot of the same namespace.
    required: [kind, name]
    properties:
      apiGroup: {type: string, maxLength: 253, description: Of its kind.}
      kind: {type: string, maxLength: 253, description: Its kind.}
      name: {type: string, maxLength: 253, description: Its name.}
  dataSourceRef:
    type: object
    description: Another way to fill it, by any object that a populator knows.
    required: [kind, name]
    properties:
      apiGroup: {type: string, maxLength: 253, description: Of its kind.}
      kind: {type: string, maxLength: 253, description: Its kind.}
      name: {type: string, maxLength: 253, description: Its name.}
      namespace: {type: string, maxLength: 253, description: 'Its namespace, if another one.'}
{{- end -}}

{{/* An object in an S3 store: the installation's, or another one. */}}
{{- define "imprint.schema.objectStore" -}}
type: object
required: [bucketName, objectName]
properties:
  bucketName:
    type: string
    description: The bucket.
    minLength: 1
    maxLength: 255
  objectName:
    type: string
    description: The object in it; slashes may be part of the name.
    minLength: 1
    maxLength: 1024
  endpoint:
    description: >-
      URL of the store, for another one than the installation's. secretRef is needed with it, unless
      the bucket is public.
    pattern: '^https?://[^/]+'
    {{- include "imprint.schema.url" . | nindent 4 }}
  region:
    type: string
    description: Of the store, as requests are signed with; us-east-1 if empty.
    maxLength: 64
  secretRef:
    description: >-
      Name of a Secret with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or accessKeyId and
      secretKey).
    {{- include "imprint.schema.name" . | nindent 4 }}
{{- end -}}

{{/* A volume's name in a namespace, as CDI writes it. */}}
{{- define "imprint.schema.namespacedName" -}}
type: object
required: [name]
properties:
  name: {type: string, minLength: 1, maxLength: 253, description: Its name.}
  namespace: {type: string, maxLength: 63, description: Its namespace; the object's own if empty.}
{{- end -}}

{{- define "imprint.schema.upload" -}}
type: object
description: How far an upload is.
properties:
  size:
    type: integer
    format: int64
    description: Bytes of the whole file.
  offset:
    type: integer
    format: int64
    description: Bytes that have arrived and are safe.
  receivedAt:
    type: string
    format: date-time
    description: When the last of them arrived.
  handle:
    type: string
    description: The volume in Ceph that they are kept in until all are there.
  into:
    type: string
    description: The volume in Ceph that they are imported to as they come.
  id:
    type: string
    description: Tells this upload from others.
  failure:
    type: string
    description: What is wrong with the file.
  checksum:
    type: string
    description: What the client says the file's checksum is.
{{- end -}}
