{{/* SPDX-License-Identifier: Apache-2.0
VirtualMachineVolume and VirtualMachinePvc are one kind under two names; they differ in what their
claim is called. */}}
{{- define "imprint.crd.volumeVersions" -}}
- name: v1alpha1
  served: true
  storage: true
  subresources: {status: {}}
  additionalPrinterColumns:
  - {name: State, type: string, jsonPath: .status.state}
  - {name: Progress, type: string, jsonPath: .status.progress}
  - {name: Size, type: string, jsonPath: .status.size}
  - {name: Source, type: string, jsonPath: .status.source}
  - {name: Claim, type: string, jsonPath: .status.pvcName}
  - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
  - name: Message
    type: string
    jsonPath: .status.conditions[?(@.type=="ReadyToUse")].message
    priority: 1
  schema:
    openAPIV3Schema:
      type: object
      description: >-
        A volume made from a VirtualMachineImage: a copy-on-write clone in the claim {{ .claim }}, for
        a virtual machine to use.
      required: [spec]
      x-kubernetes-validations:
      - rule: >-
          !has(oldSelf.status) || !has(oldSelf.status.state) || !(oldSelf.status.state in ['Creating', 'Available'])
          || (has(self.spec.virtualMachineImageName) == has(oldSelf.spec.virtualMachineImageName)
          && (!has(self.spec.virtualMachineImageName)
          || self.spec.virtualMachineImageName == oldSelf.spec.virtualMachineImageName)
          && (!has(self.spec.virtualMachineImage)
          || self.spec.virtualMachineImage == oldSelf.spec.virtualMachineImage))
        message: >-
          spec.virtualMachineImage cannot be changed once the claim is made of it: make another volume
      {{- if lt (int .limit) 253 }}
      - rule: self.metadata.name.size() <= {{ .limit }}
        message: >-
          metadata.name may have {{ .limit }} characters, because the volume's claim is called
          {{ .claim }}
      {{- end }}
      properties:
        apiVersion: {type: string}
        kind: {type: string}
        metadata: {type: object}
        spec:
          type: object
          description: What is asked for.
          x-kubernetes-validations:
          - rule: '[has(self.virtualMachineImageName), has(self.virtualMachineImage)].exists_one(x, x)'
            message: exactly one of virtualMachineImageName and virtualMachineImage must be set
          - rule: '!(has(self.pvc) && has(self.capacity))'
            message: >-
              only one of pvc and capacity may be set; the size in pvc is resources.requests.storage
          properties:
            virtualMachineImageName:
              description: The image, of the same namespace.
              {{- include "imprint.schema.name" . | nindent 14 }}
            virtualMachineImage:
              type: object
              description: The image.
              required: [name]
              properties:
                name:
                  description: Its name.
                  {{- include "imprint.schema.name" . | nindent 18 }}
                namespace:
                  type: string
                  description: >-
                    Another namespace than the volume's. A ReferenceGrant there has to allow it.
                  minLength: 1
                  maxLength: 63
            pvc:
              description: >-
                The claim. Without a size it has the image's; a larger size grows the volume, also later, a
                smaller one is an error. selector, volumeName and data sources are without effect.
              {{- include "imprint.schema.claim" . | nindent 14 }}
            capacity:
              type: object
              description: The size alone; the rest is as the image's own claim.
              required: [storage]
              properties:
                storage:
                  description: How much it can hold, like 10Gi.
                  {{- include "imprint.schema.quantity" . | nindent 18 }}
        status:
          type: object
          description: How it fares; written by Imprint.
          properties:
            {{- include "imprint.schema.commonStatus" . | nindent 12 }}
            size:
              description: The volume's size.
              x-kubernetes-int-or-string: true
            source:
              type: string
              description: The image, in a line.
            pvcName:
              type: string
              description: The claim for the virtual machine.
{{- end -}}
