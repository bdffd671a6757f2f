{{/* SPDX-License-Identifier: Apache-2.0
The spec of a DataVolume, which stands alone and as a template in a DataImportCron. */}}
{{- define "imprint.schema.importSources" -}}
http:
  type: object
  required: [url]
  x-kubernetes-validations:
  - rule: '!has(self.insecureSkipVerify) || !self.insecureSkipVerify'
    message: insecureSkipVerify is not served, certificates are verified; set certConfigMap
  properties:
    insecureSkipVerify: {type: boolean}
    url:
      pattern: '^https?://[^/]+'
      {{- include "imprint.schema.url" . | nindent 6 }}
    secretRef: {type: string, maxLength: 253}
    certConfigMap: {type: string, maxLength: 253}
    extraHeaders:
      type: array
      maxItems: 64
      items: {type: string, maxLength: 8192}
    secretExtraHeaders:
      type: array
      description: Names of Secrets; each value is a header.
      maxItems: 64
      items: {type: string, maxLength: 253}
    checksum:
      type: string
      description: sha256:… or sha512:… of the file as it is fetched.
      pattern: '^(sha256:[0-9a-fA-F]{64}|sha512:[0-9a-fA-F]{128})$'
s3:
  type: object
  required: [url]
  properties:
    url:
      pattern: '^(https?|s3)://[^/]+'
      {{- include "imprint.schema.url" . | nindent 6 }}
    secretRef:
      type: string
      description: Name of a Secret with the keys accessKeyId and secretKey.
      maxLength: 253
    certConfigMap: {type: string, maxLength: 253}
registry:
  type: object
  x-kubernetes-validations:
  - rule: '!has(self.imageStream)'
    message: imageStream is not served; set url
  - rule: has(self.url)
    message: url is needed
  properties:
    url:
      pattern: '^(docker|oci-archive)://.+'
      {{- include "imprint.schema.url" . | nindent 6 }}
    secretRef:
      type: string
      description: Name of a Secret with the keys accessKeyId and secretKey.
      maxLength: 253
    certConfigMap: {type: string, maxLength: 253}
    platform:
      type: object
      properties:
        architecture: {type: string, maxLength: 64}
    pullMethod:
      type: string
      description: Accepted and not needed; nothing is pulled by a node.
      enum: [pod, node]
    imageStream: {type: string, maxLength: 253}
{{- end -}}

{{- define "imprint.schema.dataVolumeSpec" -}}
type: object
x-kubernetes-validations:
- rule: >-
    [has(self.source), has(self.sourceRef),
    (has(self.pvc) && (has(self.pvc.dataSource) || has(self.pvc.dataSourceRef))) ||
    (has(self.storage) && (has(self.storage.dataSource) || has(self.storage.dataSourceRef)))
    ].exists_one(x, x)
  message: exactly one of source, sourceRef and a dataSource of the claim must be set
- rule: '[has(self.pvc), has(self.storage)].exists_one(x, x)'
  message: exactly one of pvc and storage must be set
- rule: "!has(self.contentType) || self.contentType != 'archive'"
  message: contentType archive is not served; volumes hold disk images
properties:
  source:
    type: object
    description: What the volume is filled from.
    x-kubernetes-validations:
    - rule: '!has(self.gcs) && !has(self.imageio) && !has(self.vddk)'
      message: sources gcs, imageio and vddk are not served
    - rule: >-
        [has(self.http), has(self.s3), has(self.registry), has(self.pvc), has(self.snapshot),
        has(self.blank), has(self.upload), has(self.gcs), has(self.imageio),
        has(self.vddk)].exists_one(x, x)
      message: exactly one of http, s3, registry, pvc, snapshot, blank and upload must be set
    properties:
      {{- include "imprint.schema.importSources" . | nindent 6 }}
      pvc:
        {{- include "imprint.schema.namespacedName" . | nindent 8 }}
      snapshot:
        {{- include "imprint.schema.namespacedName" . | nindent 8 }}
      blank: {type: object}
      upload: {type: object}
      # known, so that they are refused by name and not silently dropped
      gcs: {type: object, x-kubernetes-preserve-unknown-fields: true}
      imageio: {type: object, x-kubernetes-preserve-unknown-fields: true}
      vddk: {type: object, x-kubernetes-preserve-unknown-fields: true}
  sourceRef:
    type: object
    description: A DataSource that tells what the volume is filled from.
    required: [kind, name]
    properties:
      kind: {type: string, enum: [DataSource]}
      name: {type: string, minLength: 1, maxLength: 253}
      namespace: {type: string, maxLength: 63}
  pvc:
    description: The claim, taken as it is.
    {{- include "imprint.schema.claim" . | nindent 4 }}
  storage:
    description: >-
      The claim; what is missing is chosen so that virtual machines can move between nodes, Block and
      ReadWriteMany, and large enough for the source.
    {{- include "imprint.schema.claim" . | nindent 4 }}
  contentType: {type: string, enum: [kubevirt, archive]}
  priorityClassName:
    type: string
    description: Accepted and not needed; no pod is started.
    maxLength: 253
  preallocation:
    type: boolean
    description: Accepted and without effect; volumes take space as they are written to.
  checkpoints:
    type: array
    description: Accepted and without effect; of the sources that are not served.
    maxItems: 1024
    items:
      type: object
      properties:
        previous: {type: string, maxLength: 253}
        current: {type: string, maxLength: 253}
  finalCheckpoint:
    type: boolean
    description: Accepted and without effect, as checkpoints.
{{- end -}}
