// SPDX-License-Identifier: Apache-2.0

// decode reads objects of cdi.kubevirt.io as `kubectl get -o json` prints them, with the types that
// KubeVirt itself is built with, and prints what KubeVirt goes by. What the types do not know is told
// on standard error.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	virt "kubevirt.io/api/core/v1"
)

type list struct {
	Items []json.RawMessage `json:"items"`
}

func read(raw []byte, into any) {
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(into); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if err := json.Unmarshal(raw, into); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func condition(kind, name, which, status, reason string) {
	fmt.Printf("%s %s %s=%s %s\n", kind, name, which, status, reason)
}

func show(raw []byte) {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		panic(err)
	}
	switch head.Kind {
	case "DataVolume":
		var volume cdi.DataVolume
		read(raw, &volume)
		fmt.Printf("DataVolume %s %s %s\n", volume.Name, volume.Status.Phase, volume.Status.Progress)
		for _, each := range volume.Status.Conditions {
			condition(head.Kind, volume.Name, string(each.Type), string(each.Status), each.Reason)
		}
	case "DataSource":
		var source cdi.DataSource
		read(raw, &source)
		for _, each := range source.Status.Conditions {
			condition(head.Kind, source.Name, string(each.Type), string(each.Status), each.Reason)
		}
	case "DataImportCron":
		var cron cdi.DataImportCron
		read(raw, &cron)
		for _, each := range cron.Status.Conditions {
			condition(head.Kind, cron.Name, string(each.Type), string(each.Status), each.Reason)
		}
		if cron.Status.LastImportedPVC != nil {
			fmt.Printf("DataImportCron %s last %s/%s\n", cron.Name, cron.Status.LastImportedPVC.Namespace,
				cron.Status.LastImportedPVC.Name)
		}
	case "VirtualMachine":
		var machine virt.VirtualMachine
		read(raw, &machine)
		for _, each := range machine.Spec.DataVolumeTemplates {
			// as virt-controller makes it of a template
			volume := cdi.DataVolume{Spec: each.Spec, ObjectMeta: each.ObjectMeta}
			volume.APIVersion, volume.Kind = "cdi.kubevirt.io/v1beta1", "DataVolume"
			text, err := json.Marshal(volume)
			if err != nil {
				panic(err)
			}
			fmt.Println(string(text))
		}
	}
}

func main() {
	var all list
	if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, raw := range all.Items {
		show(raw)
	}
}
