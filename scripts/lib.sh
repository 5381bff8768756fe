# shellcheck shell=bash
# Functions shared by the scripts, which source this file from the root of the project.

say() { printf '%s\n' "$*" >&2; }

# quietly COMMAND...: runs a command; shows its output on stderr only if it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  [ $status = 0 ] || cat "$log" >&2
  rm -f "$log"
  return $status
}

# there WHAT: whether a program is on the path, or c++ finds a header.
there() {
  case $1 in
    *.h | *.hpp) printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | c++ -E -x c++ - >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# missing WHAT:PACKAGE...: prints the packages of missing programs and headers.
missing() {
  local pair
  for pair in "$@"; do there "${pair%%:*}" || printf '%s ' "${pair##*:}"; done
}

# The command that runs apt-get with the necessary rights, or empty.
apt_get() {
  command -v apt-get >/dev/null || return 0
  if [ "$(id -u)" = 0 ]; then
    echo env DEBIAN_FRONTEND=noninteractive apt-get
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    echo sudo env DEBIAN_FRONTEND=noninteractive apt-get
  fi
}

# need WHAT:PACKAGE...: installs missing packages, and stops with a sentence if it cannot.
need() {
  local packages apt
  packages=$(missing "$@")
  [ -n "$packages" ] || return 0
  apt=$(apt_get)
  if [ -z "$apt" ]; then
    say "llmcalc: missing packages: ${packages% }; apt-get is absent or not permitted, so install them manually" \
      "(Debian or Ubuntu, as root: apt-get install ${packages% }) and rerun this script"
    exit 2
  fi
  say "installing ${packages% }"
  # shellcheck disable=SC2086  # word splitting is intended for both
  if ! { quietly $apt -qq update && quietly $apt -qq -y --no-install-recommends install $packages; }; then
    say "llmcalc: apt-get could not install ${packages% }; see its message above"
    exit 2
  fi
}

need_to_build() {
  need c++:g++ cmake:cmake ninja:ninja-build fmt/core.h:libfmt-dev CLI/CLI.hpp:libcli11-dev \
    nlohmann/json.hpp:nlohmann-json3-dev zlib.h:zlib1g-dev httplib.h:libcpp-httplib-dev pkg-config:pkg-config
  # Uses ccache if available. CMake reads this when it first configures a build folder.
  ! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache
}
