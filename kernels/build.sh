#!/usr/bin/env bash
# Recompiles every CUDA source of this folder, and of the patterns that the program holds, to the PTX that is committed beside it.
#
#     kernels/build.sh              everything
#     kernels/build.sh softmax/     only outputs whose path contains "softmax/"
#     NVCC=/path/to/nvcc kernels/build.sh
#
# The committed PTX is what nvcc 13.0 makes.  It comes from PyPI and needs neither a GPU nor an installed CUDA toolkit:
#
#     python3 -m venv nvcc
#     nvcc/bin/pip install nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 \
#         nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
#     NVCC=$(echo "$PWD"/nvcc/lib/python3*/site-packages/nvidia/cu13/bin/nvcc) kernels/build.sh
#
# Each output is one line of one of the lists below, kernels/<folder>/build.list and src/prove/reading/functions/idioms/build.list:
#
#     OUTPUT SOURCE FLAGS...
#
# which compiles <folder>/SOURCE.cu to <folder>/OUTPUT.ptx with -DENTRY=<name of the folder>_OUTPUT, the name of the kernel.
# The word FAST stands for -use_fast_math.  Lines that start with # are comments.
# The result is deterministic and does not depend on where the folder is: sources are named relative to it, and the paths
# that -lineinfo leaves in `.file` directives are rewritten to be relative to the PTX.
set -euo pipefail
NVCC=${NVCC:-nvcc}
ARCH=${ARCH:-sm_80}
JOBS=${JOBS:-2}
only=${1:-}
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."

compile() { # folder output source flags...
    local folder=$1 output=$2 source=$3
    shift 3
    # Warning 177 is about constants that one of several variants of a kernel does not need.
    local flags=() arch=-arch=$ARCH
    for flag in "$@"; do
        case $flag in
            FAST) flags+=(-use_fast_math) ;;
            -arch=*) arch=$flag ;;
            *) flags+=("$flag") ;;
        esac
    done
    (cd "$folder" && "$NVCC" -ptx "$arch" -diag-suppress 177 "-DENTRY=${folder##*/}_$output" "${flags[@]}" "$source.cu" -o "$output.ptx")
    # A path inside this folder loses its prefix; a header of the toolkit keeps only its name.  With -lineinfo the
    # names of inlined functions hold a hash of the directory, as bytes after "_INTERNAL_": it becomes eight zeros.
    sed -i -E \
        -e 's/(,95,73,78,84,69,82,78,65,76,95)(,[0-9]+){8},95,/\1,48,48,48,48,48,48,48,48,95,/' \
        -e "/^[[:space:]]*\.file/s|\"$PWD/$folder/|\"|" \
        -e "/^[[:space:]]*\.file/s|\"$here/|\"../|" \
        -e '/^[[:space:]]*\.file/s|"/[^"]*/([^/"]+)"|"\1"|' \
        -e '/^[[:space:]]*\.file/s|"\./|"|' \
        -e '/^[[:space:]]*\.file/s|("[^"]*"),[^,]*,.*$|\1|' \
        "$folder/$output.ptx"
    echo "$folder/$output.ptx"
}

failed=0
for list in kernels/*/build.list src/prove/reading/functions/idioms/build.list; do
    folder=${list%/build.list}
    while read -r output source flags; do
        [[ -z $output || $output == \#* ]] && continue
        [[ $folder/$output.ptx == *"$only"* ]] || continue
        if (($(jobs -p | wc -l) >= JOBS)); then wait -n || failed=1; fi
        # The flags are words without spaces of their own.
        # shellcheck disable=SC2086
        compile "$folder" "$output" "$source" $flags </dev/null &
    done <"$list"
done
while (($(jobs -p | wc -l) > 0)); do wait -n || failed=1; done
exit $failed
