#!/bin/bash
# Sets up everything for `make demo` (argument: demo) or `make test` (argument: test), asking nothing:
# the Debian packages of fixtures/packages.txt where apt may be used, then the virtual environment.
# Packages that cannot be had are named and left out: what needs them says so or is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:?demo or test}
venv=.venv

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# A distribution's Python is built with profile feedback; one built by hand seldom is, and slower.
default_python() { if new_enough /usr/bin/python3; then echo /usr/bin/python3; else echo python3; fi; }

python=${PYTHON:-$(default_python)}

# Debian has ensurepip in a package of its own (python3-venv); another Python may have it anyway.
makes_venvs() { [[ -x $venv/bin/python ]] || "$python" -c 'import ensurepip, venv' 2>/dev/null; }

# Packages of the wanted level that are not installed.
missing_packages() {
    local package who
    while read -r package who _; do
        case $package in '' | '#'*) continue ;; esac
        [[ $level = test || $who = demo ]] || continue
        [[ $package = python3-venv ]] && makes_venvs && continue
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) = installed ]] || echo "$package"
    done <fixtures/packages.txt
}

# How apt-get is run: as root, or through sudo when it asks for no password.
apt_prefix() {
    if [[ $(id -u) = 0 ]]; then
        echo env
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        echo sudo -n
    else
        return 1
    fi
}

apt_get() {
    $prefix DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=120 \
        -o Acquire::http::Timeout=20 -o Acquire::Retries=1 "$@" </dev/null >>"$log" 2>&1
}

install_packages() {
    command -v dpkg-query >/dev/null || { say "not a Debian system: real inputs only where they already are"; return; }
    local missing prefix log=.cache/apt.log tried=.cache/apt-tried
    missing=$(missing_packages | tr '\n' ' ')
    [[ -n $missing ]] || return 0
    if ! prefix=$(apt_prefix); then
        say "apt-get needs root; without it these are missing: $missing"
        return
    fi
    # A machine without network must not wait for apt at each call: one try an hour for the same set.
    mkdir -p .cache
    if [[ -n $(find "$tried" -mmin -60 2>/dev/null) && $(cat "$tried") = "$missing" ]]; then
        say "apt-get failed less than an hour ago (see $log); still missing: $missing"
        return
    fi
    say "apt-get install $missing"
    : >"$log"
    # shellcheck disable=SC2086  # a list of package names
    if apt_get update && apt_get install --no-install-recommends $missing; then
        rm -f "$tried"
    else
        echo -n "$missing" >"$tried"
        say "apt-get failed (see $log); missing: $(missing_packages | tr '\n' ' ')"
    fi
}

make_venv() {
    [[ -x $venv/bin/python ]] && return
    command -v "$python" >/dev/null || fail "no $python; install Python 3.11 or later, or set PYTHON"
    new_enough "$python" ||
        fail "$python is $("$python" -V 2>&1); Python 3.11 or later is needed: set PYTHON"
    # Without ensurepip `python -m venv` leaves a broken directory.
    makes_venvs ||
        fail "$python cannot make virtual environments; run: apt-get install python3-venv"
    say "virtual environment in $venv"
    "$python" -m venv "$venv" || { rm -rf "$venv"; fail "virtual environment not made"; }
}

install_python_packages() {
    local extra='[compile]' stamp=$venv/.setup-$level
    [[ $level = test ]] && extra='[dev]'
    [[ $stamp -nt setup.cfg && $stamp -nt pyproject.toml ]] && return
    say "pip install -e .$extra"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e ".$extra" ||
        fail "pip could not install the Python packages of setup.cfg"
    # The wheel holds the product alone; tests and benchmarks also import `fixtures`.
    pwd >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/checkout.pth"
    touch "$stamp"
}

compile_modules() {
    # Where PYTHONDONTWRITEBYTECODE is set each process would compile all of it anew.
    local folders=(rewriter passes targets)
    [[ $level = test ]] && folders+=(fixtures benchmarks scripts)
    "$venv/bin/python" -m compileall -q "${folders[@]}"
}

compile_hottest() {
    # A line where something was compiled, or why nothing can be; nothing where all is as it was.
    "$venv/bin/python" -m rewriter.cli.install.compiling
}

install_packages
make_venv
install_python_packages
compile_hottest
compile_modules
