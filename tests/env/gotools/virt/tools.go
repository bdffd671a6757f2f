// SPDX-License-Identifier: Apache-2.0

//go:build tools

package main

import _ "kubevirt.io/kubevirt/cmd/virt-controller"
