#!/usr/bin/env bash
# Takes the program of a release for this runner into RUNNER_TEMP/volta-program, if there is one, and tells the steps
# that follow: `from` is `release` or `sources`, `key` is one for each program, `run` one for each run.
#
# A release that is asked for by name must be there. What was downloaded is run only if its SHA-256 is the one that the
# release lists: anything else ends the step.
set -euo pipefail

tell() {
  echo "$1=$2" >>"$GITHUB_OUTPUT"
}

if command -v sha256sum >/dev/null; then sums=(sha256sum); else sums=(shasum -a 256); fi

sha256() { # of the standard input
  "${sums[@]}" | cut -d ' ' -f 1
}

target() {
  case "$RUNNER_OS-$RUNNER_ARCH" in
    Linux-X64) echo x86_64-unknown-linux-gnu ;;
    Linux-ARM64) echo aarch64-unknown-linux-gnu ;;
    macOS-X64) echo x86_64-apple-darwin ;;
    macOS-ARM64) echo aarch64-apple-darwin ;;
    *) return 1 ;;
  esac
}

download() { # file, to
  curl --proto '=https,file' --fail --silent --show-error --location --retry 3 --output "$2" "$1"
}

# Fails where there is no such release, or none for this runner.
release() { # version
  local from=${MIRROR:-$RELEASES}/$1 name to=$RUNNER_TEMP/volta-program
  name=volta-$1-$(target) || return 1
  mkdir -p "$to"
  download "$from/$name.tar.gz" "$to/$name.tar.gz" && download "$from/SHA256SUMS" "$to/SHA256SUMS" || return 1
  local listed
  listed=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$to/SHA256SUMS")
  if [ "$listed" != "$(sha256 <"$to/$name.tar.gz")" ]; then
    echo "::error title=volta::the SHA-256 of $name.tar.gz is not the one that its release lists"
    exit 1
  fi
  tar -xzf "$to/$name.tar.gz" -C "$to" --strip-components 1 "$name/volta"
}

# The sources that a build reads, and what it is built on.
sources() {
  cd "$GITHUB_ACTION_PATH/../../.."
  {
    echo "${ImageOS-} ${ImageVersion-}"
    find Cargo.toml Cargo.lock .cargo src -path src/python -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 "${sums[@]}"
  } | sha256
}

tell run "$(date +%s)-$RANDOM"
version=$VERSION
[[ -n $version || ! $REF =~ ^v[0-9] ]] || version=$REF
if [ -n "$version" ] && ! [[ $version =~ ^v[0-9][0-9A-Za-z.+-]*$ ]]; then
  echo "::error title=volta::the version is none, such as v0.2.0"
  exit 1
elif [ -n "$version" ] && release "$version"; then
  tell from release
  tell key "$version"
elif [ -n "$VERSION" ]; then
  echo "::error title=volta::there is no program of $version for $RUNNER_OS on $RUNNER_ARCH"
  exit 1
else
  tell from sources
  tell key "$(sources)"
fi
