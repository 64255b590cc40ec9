#!/bin/sh
# Runs a command with the settings, the secrets and the user of gatehouse.service, as root: gatehouse-command user list
# Install it as /usr/local/sbin/gatehouse-command: docs/guides/run-in-production.md
set -eu
unit=$(systemctl cat gatehouse.service)
setting() { printf '%s\n' "$unit" | sed -n "s/^$1=//p"; }

# systemd replaces ${NAME} in the arguments of a command, and $$ by $.
for argument in "$@"; do
  shift
  set -- "$@" "$(printf %s "$argument" | sed 's/[$]/$$/g')"
done
# It knows %d only in units.
variables=$(setting Environment | sed 's|%d|"$CREDENTIALS_DIRECTORY"|g' | tr '\n' ' ')
set -- /bin/sh -c "exec env $variables \"\$0\" \"\$@\"" "$(setting ExecStart | tail -n 1 | cut -d' ' -f1)" "$@"
while IFS= read -r property; do
  set -- "--property=$property" "$@"
done <<END
$(printf '%s\n' "$unit" | grep -E '^(EnvironmentFile|LoadCredential|User|Group|UMask|StateDirectory|StateDirectoryMode)=' | tac)
END
exec systemd-run --quiet --collect --wait --pipe --pty --service-type=exec --working-directory=/var/lib/gatehouse "$@"
