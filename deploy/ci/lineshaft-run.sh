#!/bin/sh
# lineshaft-run.sh starts a run on a Lineshaft server and waits for it. It is for CI
# systems: it needs sh, curl and awk, no installation and no other file.
#
#   LINESHAFT_URL=https://lineshaft.example.com LINESHAFT_API_KEY=ls_... \
#     sh lineshaft-run.sh --prompt "Fix the failing test" --timeout 3600
#
# Exit codes: 0 the run succeeded (or, with --no-wait, was started), 1 it did not, or the
# server did not answer, 2 the call is wrong, 3 something was not found, 4 not allowed.
#
# Texts of others (prompts, names) are never part of a command: they go into a JSON file.
# The key is never an argument of a program, where others could see it.
set -eu

usage() {
	cat <<'END'
Usage: lineshaft-run.sh (--prompt TEXT | --prompt-file FILE) [flags]

  --prompt TEXT            what the agent should do
  --prompt-file FILE       the same from a file; - is standard input
  --title TEXT             title of the run
  --name LABEL             label to group and find runs by
  --model ID               language model
  --environment UID        environment to work in
  --agent UID              agent to give it to
  --factory UID            factory whose foreman gets it; not with --name, --model,
                           --environment, --agent and --metadata
  --metadata KEY=VALUE     to store with the run; repeatable
  --no-wait                only start it
  --timeout SECONDS        stop waiting after that time, which fails; the run continues
                           (default 3600)
  --idempotency-key KEY    calls with the same key and the same flags start one run
                           only (default: a new one, so that each call starts a run)

Variables: LINESHAFT_URL and LINESHAFT_API_KEY.
END
}

say() { printf 'lineshaft: %s\n' "$*" >&2; }

# fail CODE TEXT NEXT ends with what is wrong and what to do.
fail() {
	say "$2"
	[ -z "${3-}" ] || say "$3"
	exit "$1"
}

# json_string prints standard input as a JSON string. Bytes above 127 pass as they are.
json_string() {
	LC_ALL=C awk '
		BEGIN {
			for (i = 1; i < 32; i++) code[sprintf("%c", i)] = sprintf("\\u%04x", i)
			code["\""] = "\\\""; code["\\"] = "\\\\"; code["\t"] = "\\t"; code["\r"] = "\\r"
			printf "\""
		}
		{
			if (NR > 1) printf "\\n"
			n = length($0)
			for (i = 1; i <= n; i++) { c = substr($0, i, 1); printf "%s", (c in code) ? code[c] : c }
		}
		END { printf "\"" }'
}

# json_field NAME FILE prints a text of the outermost object on one line; nothing if there
# is none. NAME.NAME is a text of an object in it. What is elsewhere, or inside of texts,
# does not count.
json_field() {
	LC_ALL=C awk -v want="$1" '
		{ text = text $0 "\n" }
		END {
			n = length(text); depth = 0; named = 0
			levels = split(want, path, ".")
			for (i = 1; i <= n; i++) {
				c = substr(text, i, 1)
				if (c == "{" || c == "[") { key[++depth] = ""; named = 0; continue }
				if (c == "}" || c == "]") { depth--; named = 0; continue }
				if (c == ",") { named = 0; continue }
				if (c == ":") { named = 1; continue }
				if (c != "\"") continue
				word = ""
				for (i++; i <= n; i++) {
					c = substr(text, i, 1)
					if (c == "\"") break
					if (c == "\\") {
						i++; c = substr(text, i, 1)
						if (c == "u") {
							hex = tolower(substr(text, i + 1, 4)); i += 4
							c = hex == "0026" ? "&" : hex == "003c" ? "<" : hex == "003e" ? ">" : "?"
						}
						else if (c == "n" || c == "r" || c == "t" || c == "b" || c == "f") c = " "
					}
					word = word c
				}
				if (!named) { key[depth] = word; continue }
				if (depth != levels) continue
				found = 1
				for (level = 1; level <= levels; level++) if (key[level] != path[level]) found = 0
				if (found) { gsub(/[\001-\037\177]/, " ", word); print word; exit }
			}
		}' "$2"
}

# header NAME prints a header of the last answer, whose name is given in lower case.
header() {
	awk -v want="$1:" '
		tolower($1) == want { sub(/^[^:]*:[ \t]*/, ""); sub(/[ \t\r]*$/, ""); value = $0 }
		END { print value }' "$work/headers"
}

# request METHOD PATH [BODY] leaves the answer in $work/answer and its status in $status.
# What may be tried again is: with the same key it starts one run only.
request() {
	attempt=1
	while :; do
		: >"$work/answer"
		: >"$work/headers"
		set -- "$1" "$2" "${3-}"
		code=0
		if [ -n "$3" ]; then
			status=$(curl --silent --show-error --config "$work/curl" --request "$1" --data-binary "@$3" --header 'Content-Type: application/json' \
				--header "Idempotency-Key: $key" --url "$base$2" 2>"$work/trouble") || code=$?
		else
			status=$(curl --silent --show-error --config "$work/curl" --request "$1" --url "$base$2" 2>"$work/trouble") || code=$?
		fi
		[ "$code" -eq 0 ] || status=000
		case $status in
		000 | 408 | 429 | 5??) ;;
		*) return 0 ;;
		esac
		[ "$attempt" -lt "$attempts" ] || return 0
		[ "$(header x-should-retry)" != false ] || return 0
		pause=$(header retry-after)
		case $pause in
		'' | *[!0-9]*) pause=$((delay * attempt)) ;; # none, or a date, which sh cannot read
		????*) pause=120 ;;
		esac
		[ "$pause" -le 120 ] || pause=120
		say "no answer yet (status $status); again in ${pause}s"
		sleep "$pause"
		attempt=$((attempt + 1))
	done
}

# check ends the script unless the answer is a good one.
check() {
	case $status in
	2??) return 0 ;;
	000) fail 1 "no answer from $LINESHAFT_URL: $(tr '\n' ' ' <"$work/trouble")" "Check LINESHAFT_URL, and that this machine reaches it." ;;
	401) fail 4 "the server does not accept this API key" "Check LINESHAFT_API_KEY; an admin can create a key with: lineshaft apikey create NAME --role member" ;;
	403) fail 4 "not allowed: $(json_field detail "$work/answer")" "Take a key of a role that may do it: lineshaft apikey create NAME --role member" ;;
	404) fail 3 "not found: $(json_field detail "$work/answer")" "Check LINESHAFT_URL and the uids." ;;
	esac
	detail=$(json_field detail "$work/answer")
	case $status:$detail in
	# A body that names what is not there is a wrong body to the server.
	400:"agent_identity_uid: no agent "* | 400:"config.environment_id: there is no environment "*)
		fail 3 "not found: $detail" "Check the uids."
		;;
	esac
	fail 1 "the server answered $status: $detail" "Fix that and try again."
}

# output NAME VALUE sets an output for later steps of a workflow.
output() {
	[ -z "${GITHUB_OUTPUT-}" ] || printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
}

summary() {
	[ -n "${GITHUB_STEP_SUMMARY-}" ] || return 0
	link=$run
	case $url in
	http://* | https://*)
		case $url in *[!A-Za-z0-9:/._~?=\&%-]*) ;; *) link="[$run]($url)" ;; esac
		;;
	esac
	printf '### Lineshaft\n\n| Run | State |\n| --- | --- |\n| %s | %s |\n' "$link" "$state" >>"$GITHUB_STEP_SUMMARY"
}

prompt='' prompt_file='' title='' name='' model='' environment='' agent='' factory='' metadata='' wait=1 timeout=3600 key=''
given=0
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage && exit 0 ;;
	--no-wait) wait=0 && shift && continue ;;
	--prompt | --prompt-file | --title | --name | --model | --environment | --agent | --factory | --metadata | --timeout | --idempotency-key) ;;
	*) fail 2 "$1 is not a flag" "See: lineshaft-run.sh --help" ;;
	esac
	[ $# -gt 1 ] || fail 2 "$1 needs a value" "See: lineshaft-run.sh --help"
	case $1 in
	--prompt) prompt=$2 && given=$((given + 1)) ;;
	--prompt-file) prompt_file=$2 && given=$((given + 1)) ;;
	--title) title=$2 ;;
	--name) name=$2 ;;
	--model) model=$2 ;;
	--environment) environment=$2 ;;
	--agent) agent=$2 ;;
	--factory) factory=$2 ;;
	--timeout) timeout=$2 ;;
	--idempotency-key) key=$2 ;;
	--metadata)
		case $2 in ?*=*) ;; *) fail 2 "--metadata is not KEY=VALUE" "Write for instance: --metadata team=core" ;; esac
		metadata="$metadata${metadata:+,}$(printf '%s' "${2%%=*}" | json_string):$(printf '%s' "${2#*=}" | json_string)"
		;;
	esac
	shift 2
done

[ "$given" -eq 1 ] || fail 2 "one prompt is needed" "Give --prompt TEXT or --prompt-file FILE."
case $timeout in '' | *[!0-9]*) fail 2 "--timeout $timeout is not a number of seconds" "Write for instance: --timeout 600" ;; esac
case ${LINESHAFT_URL-} in
http://?* | https://?*) ;;
*) fail 2 "LINESHAFT_URL is not the address of a server" "Set it, such as to https://lineshaft.example.com" ;;
esac
case ${LINESHAFT_API_KEY-} in
'') fail 4 "LINESHAFT_API_KEY is not set" "An admin can create a key with: lineshaft apikey create NAME --role member" ;;
*[!A-Za-z0-9._~-]*) fail 2 "LINESHAFT_API_KEY has a character that no key has" "Copy it again, without spaces and line breaks." ;;
esac
case $factory$agent$environment in *[!A-Za-z0-9_-]*) fail 2 "--factory, --agent and --environment are uids" "lineshaft factory list, agent list and environment list show them." ;; esac
if [ -n "$factory" ] && [ -n "$name$model$environment$agent$metadata" ]; then
	fail 2 "--factory gives the work to its foreman, which has its own settings" "Leave out --name, --model, --environment, --agent and --metadata, or --factory."
fi
# The runner looks for this in both streams, and standard output is for the id of the run:
# what takes that must not get the key with it.
[ -z "${GITHUB_ACTIONS-}" ] || printf '::add-mask::%s\n' "$LINESHAFT_API_KEY" >&2

base=${LINESHAFT_URL%/}
base=${base%/api/v1}/api/v1
attempts=${LINESHAFT_ATTEMPTS:-5}
delay=${LINESHAFT_RETRY_SECONDS:-2}
poll=${LINESHAFT_POLL_SECONDS:-3}
umask 077
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# curl reads the key from a file that only this user may read.
cat >"$work/curl" <<END
header = "Authorization: Bearer $LINESHAFT_API_KEY"
header = "Accept: application/json"
user-agent = "lineshaft-run"
connect-timeout = 15
max-time = 60
output = "$work/answer"
dump-header = "$work/headers"
write-out = "%{http_code}"
END

if [ -n "$prompt_file" ] && [ "$prompt_file" != - ]; then
	if [ ! -f "$prompt_file" ] || [ ! -r "$prompt_file" ]; then
		fail 2 "$prompt_file is not a file that can be read" "Check --prompt-file."
	fi
	cat -- "$prompt_file" >"$work/prompt"
elif [ "$prompt_file" = - ]; then
	cat >"$work/prompt"
else
	printf '%s' "$prompt" >"$work/prompt"
fi
grep -q '[^[:space:]]' "$work/prompt" || fail 2 "the prompt is empty" "Say what the agent should do."

{
	printf '{"prompt":'
	json_string <"$work/prompt"
	[ -z "$title" ] || printf ',"title":%s' "$(printf '%s' "$title" | json_string)"
	[ -z "$agent" ] || printf ',"agent_identity_uid":"%s"' "$agent"
	[ -z "$metadata" ] || printf ',"metadata":{%s}' "$metadata"
	if [ -n "$name$model$environment" ]; then
		printf ',"config":{'
		comma=''
		for pair in "name=$name" "model_id=$model" "environment_id=$environment"; do
			[ -n "${pair#*=}" ] || continue
			printf '%s"%s":%s' "$comma" "${pair%%=*}" "$(printf '%s' "${pair#*=}" | json_string)"
			comma=,
		done
		printf '}'
	fi
	printf '}'
} >"$work/body"

# Each call is a run of its own, also two of one job that say the same; what is sent again
# below carries the same key.
[ -n "$key" ] || key="ci-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
case $key in *[!A-Za-z0-9._:/@-]*) fail 2 "--idempotency-key has a character that it cannot have" "Take letters, digits, '.', '_', ':', '/', '@' and '-'." ;; esac

path=/agent/runs
[ -z "$factory" ] || path=/factory/$factory/runs
request POST "$path" "$work/body"
check
run=$(json_field run_id "$work/answer")
state=$(json_field state "$work/answer")
case $run in '' | *[!A-Za-z0-9_-]*) fail 1 "what answers at $LINESHAFT_URL is not a Lineshaft server" "Check LINESHAFT_URL." ;; esac
request GET "/agent/runs/$run"
url=$(json_field session_link "$work/answer")
output run-id "$run"
output url "$url"
say "run $run: $url"

began=$(date +%s)
last=''
said=0
while [ "$wait" -eq 1 ]; do
	check
	state=$(json_field state "$work/answer")
	[ "$state" = "$last" ] || say "$state"
	last=$state
	case $state in
	SUCCEEDED | FAILED | ERROR | CANCELLED) break ;;
	BLOCKED)
		[ "$said" -eq 1 ] || say "it waits for an answer: give it at $url"
		said=1
		;;
	esac
	if [ $(($(date +%s) - began)) -ge "$timeout" ]; then
		output state "$state"
		summary
		fail 1 "the run is $state after $timeout seconds; it continues" "Wait longer with --timeout, or stop it at $url"
	fi
	sleep "$poll"
	request GET "/agent/runs/$run"
done

output state "$state"
summary
[ "$wait" -eq 1 ] || { printf '%s\n' "$run" && exit 0; }
printf '%s\n' "$run"
[ "$state" != SUCCEEDED ] || exit 0
reason=$(json_field status_message.message "$work/answer")
code=$(json_field status_message.error_code "$work/answer")
fail 1 "the run ended $state${reason:+: $reason}${code:+ ($code)}" "Its log: $url"
