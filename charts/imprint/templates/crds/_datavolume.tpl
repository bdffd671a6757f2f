{{/* SPDX-License-Identifier: Apache-2.0
The spec of a DataVolume, which stands alone and as a template in a DataImportCron. */}}
{{- define "imprint.schema.importSources" -}}
http:
  type: object
  description: A file on a web server.
  required: [url]
  x-kubernetes-validations:
  - rule: '!has(self.insecureSkipVerify) || !self.insecureSkipVerify'
    message: insecureSkipVerify is not served, certificates are verified; set certConfigMap
  properties:
    insecureSkipVerify: {type: boolean, description: Not served; set certConfigMap.}
    url:
      description: Of the file, http:// or https://.
      pattern: '^https?://[^/]+'
      {{- include "imprint.schema.url" . | nindent 6 }}
    secretRef:
      type: string
      description: Name of a Secret with the keys accessKeyId and secretKey, the user and the password.
      maxLength: 253
    certConfigMap:
      type: string
      description: Name of a ConfigMap with PEM certificates that the server is trusted by.
      maxLength: 253
    extraHeaders:
      type: array
      description: "Sent along with each request, like 'X-Name: value'."
      maxItems: 64
      items: {type: string, maxLength: 8192}
    secretExtraHeaders:
      type: array
      description: Names of Secrets; each value is a header.
      maxItems: 64
      items: {type: string, maxLength: 253}
    checksum:
      type: string
      description: sha256:… or sha512:… of the file as it is fetched; not compared if empty.
      pattern: '^(|sha256:[0-9a-fA-F]{64}|sha512:[0-9a-fA-F]{128})$'
s3:
  type: object
  description: An object of an S3 store.
  required: [url]
  properties:
    url:
      description: https://STORE/BUCKET/OBJECT, or s3://BUCKET/OBJECT of AWS.
      pattern: '^(https?|s3)://[^/]+'
      {{- include "imprint.schema.url" . | nindent 6 }}
    secretRef:
      type: string
      description: Name of a Secret with the keys accessKeyId and secretKey.
      maxLength: 253
    certConfigMap:
      type: string
      description: Name of a ConfigMap with PEM certificates that the server is trusted by.
      maxLength: 253
registry:
  type: object
  description: A container image with one disk in its folder /disk.
  x-kubernetes-validations:
  - rule: '!has(self.imageStream)'
    message: imageStream is not served; set url
  - rule: has(self.url)
    message: url is needed
  properties:
    url:
      description: docker://HOST/NAME, with a tag or a digest; without a host, of Docker Hub.
      pattern: '^(docker|oci-archive)://.+'
      {{- include "imprint.schema.url" . | nindent 6 }}
    secretRef:
      type: string
      description: Name of a Secret with the keys accessKeyId and secretKey.
      maxLength: 253
    certConfigMap:
      type: string
      description: Name of a ConfigMap with PEM certificates that the server is trusted by.
      maxLength: 253
    platform:
      type: object
      description: Which one, of an image for several.
      properties:
        architecture: {type: string, maxLength: 64, description: "Like amd64; of the machine that imports if empty."}
    pullMethod:
      type: string
      description: Accepted and not needed; nothing is pulled by a node.
      enum: [pod, node]
    imageStream: {type: string, maxLength: 253, description: Not served; set url.}
{{- end -}}

{{- define "imprint.schema.dataVolumeSpec" -}}
type: object
description: What is asked for.
x-kubernetes-validations:
- rule: >-
    [has(self.source), has(self.sourceRef),
    (has(self.pvc) && (has(self.pvc.dataSource) || has(self.pvc.dataSourceRef))) ||
    (has(self.storage) && (has(self.storage.dataSource) || has(self.storage.dataSourceRef)))
    ].exists_one(x, x)
  message: exactly one of source, sourceRef and a dataSource of the claim must be set
# "storage:" with nothing behind it shows as none at all; for a clone that tells enough
- rule: >-
    has(self.pvc) != has(self.storage) || (!has(self.pvc) && (has(self.sourceRef) ||
    (has(self.source) && (has(self.source.pvc) || has(self.source.snapshot)))))
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
        description: A claim that is cloned.
        {{- include "imprint.schema.namespacedName" . | nindent 8 }}
      snapshot:
        description: A VolumeSnapshot that is cloned.
        {{- include "imprint.schema.namespacedName" . | nindent 8 }}
      blank: {type: object, description: Nothing; the volume is empty.}
      upload: {type: object, description: The bytes are sent by PUT to the populator; docs/upload.md.}
      # known, so that they are refused by name and not silently dropped
      gcs: {type: object, x-kubernetes-preserve-unknown-fields: true, description: Not served.}
      imageio: {type: object, x-kubernetes-preserve-unknown-fields: true, description: Not served.}
      vddk: {type: object, x-kubernetes-preserve-unknown-fields: true, description: Not served.}
  sourceRef:
    type: object
    description: A DataSource that tells what the volume is filled from.
    required: [kind, name]
    properties:
      kind: {type: string, enum: [DataSource], description: Its kind.}
      name: {type: string, minLength: 1, maxLength: 253, description: Its name.}
      namespace: {type: string, maxLength: 63, description: Its namespace; the volume's own if empty.}
  pvc:
    description: The claim, taken as it is.
    {{- include "imprint.schema.claim" . | nindent 4 }}
  storage:
    nullable: true
    description: >-
      The claim; what is missing is chosen so that virtual machines can move between nodes, Block and
      ReadWriteMany, and large enough for the source. A Filesystem is ReadWriteOnce. May be empty for a clone.
    {{- include "imprint.schema.claim" . | nindent 4 }}
  contentType:
    type: string
    description: A disk image, kubevirt; archive is not served.
    enum: [kubevirt, archive]
  priorityClassName:
    type: string
    description: Accepted and not needed; no pod is started.
    maxLength: 253
  serviceAccountName:
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
        previous: {type: string, maxLength: 253, description: Without effect.}
        current: {type: string, maxLength: 253, description: Without effect.}
  finalCheckpoint:
    type: boolean
    description: Accepted and without effect, as checkpoints.
{{- end -}}
