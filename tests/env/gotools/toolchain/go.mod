// The Go toolchain that machines without a recent one get; see tests/env/gotools.sh.
// go.sum holds its checksum for each architecture.
module imprint/tools/toolchain

go 1.19
