#!/usr/bin/env bash
# Counts the instructions that fixed small cases take, so that a later change can be compared whatever the machine does.
#
#     benches/callgrind.sh > benches/callgrind.txt
#
# Needs valgrind.  One thread, so that the counts are the same in every run to about one in ten thousand.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet
volta=${CARGO_TARGET_DIR:-target}/release/volta
out=$(mktemp)
trap 'rm -f "$out"' EXIT

count() { # name, arguments of volta...
    local name=$1
    shift
    valgrind --tool=callgrind --callgrind-out-file="$out" "$volta" "$@" --jobs 1 >/dev/null 2>"$out.log" || true
    printf '%s: %s instructions\n' "$name" "$(sed -n 's/^==.*Collected : \([0-9]*\).*/\1/p' "$out.log")"
    callgrind_annotate "$out" 2>/dev/null | sed -n 's/^ *\([0-9,]*\) ([^)]*) *[^:]*:\(volta::[^[]*\).*/    \1 \2/p' | awk 'NR <= 12'
    rm -f "$out.log"
}

cd kernels
case $volta in /*) ;; *) volta=../$volta ;; esac
count "softmax, naive against online, 128 threads" \
    check softmax/naive_128.ptx softmax/online_128.ptx --threads 128
count "matrix product, 32 x 32 x 32, naive against registers" \
    check matmul/naive_32.ptx matmul/registers_2d_32.ptx --ref-block 16,16 --opt-block 64
count "flash attention 2 with tensor cores against the definition, 64 queries, 32 keys, 16 values" \
    check attention/half_plain.ptx attention/flash_2.ptx --ref-block 1 --opt-block 128
count "race check of a tiled attention, 128 threads" \
    race attention/tiled_128.ptx --threads 128
