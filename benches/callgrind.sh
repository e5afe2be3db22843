#!/usr/bin/env bash
# Counts the instructions of one dear entry of each of ten families of kernels and compares them with what was recorded, whatever the
# machine does beside it.
#
#     benches/callgrind.sh             exit status 1 if an entry takes too many
#     benches/callgrind.sh --bless     records them too
#
# A line of benches/measured/callgrind.tsv is a family, an entry of it, the instructions that were recorded, and the fewest
# that ever were; `-` stands for what was never counted. An entry fails above 1.1 times what was recorded, and above twice its
# fewest, so that many small steps do not add up unseen. `--bless` rewrites the lines that fail or that fell by more than a
# tenth; what is above twice its fewest it leaves, and such a line fails until a person edits it.
#
# The entries are the dearest of their families, by `stats.work` of the report, among those that take at most about 3 s:
# valgrind takes 30 to 50 times as long. Their names are no part of another name, since `--filter` finds those too: an entry
# that does not run alone, or that does not get its verdict, ends the script.
#
# Needs valgrind. VOLTA_BINARY names a release build to count; without it one is made. With one thread, and with a budget of
# work, under which no clock ends any part of a proof, the counts are the same in every run of one build to about one in ten
# thousand.
set -euo pipefail
cd "$(dirname "$0")/.."

bless=${1:-}
recorded=benches/measured/callgrind.tsv
volta=${VOLTA_BINARY:-}
if [ -z "$volta" ]; then
  cargo build --release --quiet
  volta=${CARGO_TARGET_DIR:-target}/release/volta
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count() { # family, entry; prints the instructions
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$volta" gate "kernels/$1/volta.toml" \
    --no-cache --filter "$2" --jobs 1 --budget 100000000 --json >"$work/report" 2>"$work/log" || true
  for line in '"passed": 1,' '"failed": 0,' "\"name\": \"$2\","; do
    grep -qF "$line" "$work/report" || { echo "$1: $2 does not run alone, or does not pass" >&2; return 1; }
  done
  sed -n 's/^==.*Collected : \([0-9]*\).*/\1/p' "$work/log"
}

failed=0
while IFS=$'\t' read -r family entry instructions best; do
  if [[ $family == '#'* ]]; then
    printf '%s\n' "$family" >>"$work/new"
    continue
  fi
  now=$(count "$family" "$entry")
  said=same
  if [ "$instructions" = - ]; then
    said=new best=$now
  elif [ $((now)) -gt $((2 * best)) ]; then
    said='more than twice the fewest'
  elif [ $((10 * now)) -gt $((11 * instructions)) ]; then
    said=more
  elif [ $((10 * now)) -lt $((9 * instructions)) ]; then
    said=fewer
  fi
  printf '%-16s %-44s %15s %15s  %s\n' "$family" "$entry" "$instructions" "$now" "$said"
  case $said in
  'more than twice the fewest') failed=1 ;;
  more | new) [ "$bless" = --bless ] || failed=1 ;;
  esac
  if [ "$bless" = --bless ]; then
    case $said in more | new | fewer) instructions=$now ;; esac
    [ "$now" -ge "$best" ] || best=$now
  fi
  printf '%s\t%s\t%s\t%s\n' "$family" "$entry" "$instructions" "$best" >>"$work/new"
done <"$recorded"
if [ "$bless" = --bless ]; then
  cp "$work/new" "$recorded"
fi
exit "$failed"
