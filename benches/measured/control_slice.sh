#!/usr/bin/env bash
# Compares runs without values with runs with them on every kernel of the manifests: an hour of an unoptimised build,
# some minutes of a release build (CARGO_FLAGS=--release).
set -euo pipefail
cd "$(dirname "$0")/../.."
VOLTA_COMPARE_ALL=1 cargo test ${CARGO_FLAGS:-} --test kernels control_slice -- --nocapture
