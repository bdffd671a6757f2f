// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins csi-sanity. It has a module of its own because csi-test v5.6.0 needs CSI
// spec v1.13, which the sources of Kubernetes do not compile with.
package tools

import _ "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity"
