#!/bin/sh
# Installs missing programs that the tests start. Starts and enables none of them.
set -eu

missing=
have() { command -v "$1" >/dev/null 2>&1; }
have npm || missing="$missing npm"
have openssl || missing="$missing openssl"
have redis-server || missing="$missing redis-server"
have pgbouncer || have /usr/sbin/pgbouncer || missing="$missing pgbouncer"
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || have postgres || missing="$missing postgresql"
[ -z "$missing" ] && exit 0

if ! have apt-get || [ "$(id -u)" != 0 ]; then
    echo "the tests need:$missing. Install them, or run this as root on Debian or Ubuntu." >&2
    exit 1
fi
echo "installing$missing"
# Prevent packages from starting their services on ports that may be in use.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null
