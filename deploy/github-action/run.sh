#!/usr/bin/env bash
# run.sh is the step of action.yml: it makes the flags of lineshaft-run.sh of the inputs.
set -euo pipefail

args=(--timeout "${RUN_TIMEOUT:-3600}")
for flag in prompt prompt-file factory agent environment model name title; do
	variable=RUN_${flag^^}
	variable=${variable//-/_}
	if [[ -n ${!variable-} ]]; then
		args+=("--$flag" "${!variable}")
	fi
done

# A factory's foreman has its own settings, and takes no metadata.
if [[ -z ${RUN_FACTORY-} ]]; then
	args+=(--metadata "repository=${GITHUB_REPOSITORY-}" --metadata "commit=${GITHUB_SHA-}")
	args+=(--metadata "workflow_run=${GITHUB_SERVER_URL-}/${GITHUB_REPOSITORY-}/actions/runs/${GITHUB_RUN_ID-}")
fi
while IFS= read -r line; do
	line=${line%$'\r'}
	if [[ -n $line ]]; then
		args+=(--metadata "$line")
	fi
done <<<"${RUN_METADATA-}"

case ${RUN_WAIT:-true} in
true) ;;
false) args+=(--no-wait) ;;
*)
	echo "lineshaft: the input wait is neither true nor false" >&2
	exit 2
	;;
esac

here=${GITHUB_ACTION_PATH:-$(dirname -- "${BASH_SOURCE[0]}")}
exec sh "$here/../ci/lineshaft-run.sh" "${args[@]}"
