# shellcheck shell=bash
# lib.sh has what tests/sdk/run, tests/providers/run and e2e/browser/run share: a
# server to test, a folder for what the tests make, databases, packages, counts. It
# is sourced.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=
servers=()
jobs=()
databases=()

passed=0
failed=0
skipped=0

die() {
	echo "${suite:?}: $*" >&2
	exit 1
}

# begin makes the folder and sees to it that nothing is left behind.
begin() {
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
	work=$(mktemp -d "${TMPDIR:-/tmp}/lineshaft-$suite.XXXXXX")
	if [ -z "${LINESHAFT_BIN:-}" ]; then
		LINESHAFT_BIN=$work/lineshaft
		(cd "$root" && go build -o "$LINESHAFT_BIN" ./cmd/lineshaft)
	fi
	[ -x "$LINESHAFT_BIN" ] || die "no program at LINESHAFT_BIN=$LINESHAFT_BIN; build it with: make build"
	export LINESHAFT_BIN
	# Settings of whoever starts the tests must not reach the servers under test.
	unset LINESHAFT_DATABASE LINESHAFT_CONFIG LINESHAFT_BASE_URL LINESHAFT_RATE_LIMIT
}

clean_up() {
	trap '' INT TERM HUP
	local pid
	for pid in "${jobs[@]}"; do
		kill -TERM -- "-$pid" 2>/dev/null || true
	done
	stop_servers || true
	wait || true
	drop_databases || true
	[ -z "$work" ] || rm -rf "$work"
}

# engines prints the database engines to test on: those that LINESHAFT_TEST_ENGINES names, or all.
engines() {
	if [ -n "${LINESHAFT_TEST_ENGINES:-}" ]; then
		echo "$LINESHAFT_TEST_ENGINES"
		return
	fi
	echo sqlite
	if [ -n "${LINESHAFT_TEST_POSTGRES:-}" ]; then
		echo postgres
	elif [ -n "${LINESHAFT_TEST_FULL:-}" ]; then
		die "LINESHAFT_TEST_POSTGRES is not set; start it with: scripts/with-postgres"
	else
		echo "$suite: LINESHAFT_TEST_POSTGRES is not set, so this is SQLite only; for both: scripts/with-postgres" >&2
	fi
}

psql_there() {
	local program
	program=$(command -v psql || compgen -G '/usr/lib/postgresql/*/bin/psql' | sort -V | tail -n 1) || die "psql is not installed; run scripts/install-deps"
	"$program" --no-psqlrc --quiet --set ON_ERROR_STOP=1 "$LINESHAFT_TEST_POSTGRES" --command "$1"
}

# new_database makes a database and puts its address into the variable $1.
new_database() {
	local name="lineshaft_${suite}_$$_${#databases[@]}"
	[[ $LINESHAFT_TEST_POSTGRES =~ ^(postgres(ql)?://[^/]+/)[^?]*(\?.*)?$ ]] || die "LINESHAFT_TEST_POSTGRES is no postgres:// address"
	local address="${BASH_REMATCH[1]}$name${BASH_REMATCH[3]:-}"
	psql_there "CREATE DATABASE $name"
	databases+=("$name")
	printf -v "$1" '%s' "$address"
}

drop_databases() {
	local name
	for name in "${databases[@]}"; do
		psql_there "DROP DATABASE IF EXISTS $name WITH (FORCE)"
	done
	databases=()
}

# start_server NAME [FLAG...] starts a server on a free port; its address is
# then in $address and its log in $work/NAME.log.
start_server() {
	local name=$1
	shift
	local die_with_us=()
	command -v setpriv >/dev/null 2>&1 && die_with_us=(setpriv --pdeathsig TERM)
	: >"$work/$name.log" # there before anyone looks into it
	"${die_with_us[@]}" "$LINESHAFT_BIN" serve --listen 127.0.0.1:0 --data-dir "$work/$name" "$@" >"$work/$name.log" 2>&1 </dev/null &
	servers+=("$!")
	local left=600
	until address=$(sed -n 's/^Lineshaft .* is ready at \(http[^ ]*\)$/\1/p' "$work/$name.log") && [ -n "$address" ]; do
		if ! kill -0 "${servers[-1]}" 2>/dev/null || [ "$left" -eq 0 ]; then
			cat "$work/$name.log" >&2
			die "the server \"$name\" did not get ready; its log is above"
		fi
		left=$((left - 1))
		sleep 0.1
	done
}

# stop_servers stops every server as an operator would, and fails when one does
# not stop in time or ends with an error.
stop_servers() {
	local pid left status=0
	for pid in "${servers[@]}"; do
		kill -TERM "$pid" 2>/dev/null || true
	done
	for pid in "${servers[@]}"; do
		left=600
		while kill -0 "$pid" 2>/dev/null && [ "$left" -gt 0 ]; do
			left=$((left - 1))
			sleep 0.1
		done
		if [ "$left" -eq 0 ]; then
			echo "$suite: server $pid did not stop within 60 s" >&2
			kill -KILL "$pid" 2>/dev/null || true
			status=1
		fi
		wait "$pid" || status=1
	done
	servers=()
	return "$status"
}

# quiet_logs fails when a server noted an internal error, even when no test saw it.
quiet_logs() {
	if grep -h -E '"level":"ERROR"|^panic:|DATA RACE' "$work"/*.log >&2; then
		echo "$suite: the server logged the errors above" >&2
		return 1
	fi
}

# npm_packages FOLDER installs what its lock file says, once.
npm_packages() {
	local stamp=$1/node_modules/.lineshaft-lock
	cmp -s "$1/package-lock.json" "$stamp" && return
	(cd "$1" && npm ci --no-audit --no-fund --loglevel=error)
	cp "$1/package-lock.json" "$stamp"
}

# uv_there puts the path of uv into $uv. It makes an environment in a second of
# computing, where venv and pip take fifteen; pip fetches it, once.
uv_there() {
	local folder=$root/.tools/uv pins=$root/tests/sdk/python/requirements-uv.txt
	uv=$folder/bin/uv
	if ! cmp -s "$pins" "$folder/requirements.txt"; then
		rm -rf "$folder"
		python3 -m venv "$folder"
		"$folder/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r "$pins"
		"$folder/bin/pip" config get global.index-url >"$folder/index" 2>/dev/null || true
		cp "$pins" "$folder/requirements.txt"
	fi
	# It reads no settings of pip: where packages come from, whom to trust there, how long to wait.
	local index=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-$(cat "$folder/index")}}
	[ -z "$index" ] || export UV_DEFAULT_INDEX=$index
	[ -z "${PIP_FIND_LINKS:-}" ] || export UV_FIND_LINKS=${UV_FIND_LINKS:-$PIP_FIND_LINKS}
	export UV_HTTP_TIMEOUT=${UV_HTTP_TIMEOUT:-${PIP_DEFAULT_TIMEOUT:-180}}
	export UV_SYSTEM_CERTS=1 UV_PYTHON_DOWNLOADS=never UV_NO_CONFIG=1
}

# python_packages REQUIREMENTS FOLDER [PYTHON] makes a virtual environment with them, once.
python_packages() {
	cmp -s "$1" "$2/requirements.txt" && return
	[ -n "${uv:-}" ] || uv_there
	rm -rf "$2"
	"$uv" venv --quiet --python "$("${3:-python3}" -c 'import sys; print(sys.executable)')" "$2"
	"$uv" pip install --quiet --python "$2/bin/python" --require-hashes -r "$1"
	cp "$1" "$2/requirements.txt"
}

# python_tests FOLDER ENVIRONMENT NAME [ARG...] runs pytest there; the counts go to
# $work/NAME.xml. What Python compiles is kept beside the environment's packages.
python_tests() {
	(cd "$1" && PYTHONPYCACHEPREFIX=$PWD/$2/pycache "$2/bin/python" -m pytest -q -p no:cacheprovider --junitxml="$work/$3.xml" "${@:4}")
}

# in_background COMMAND [ARG...] starts it in a process group of its own, so that
# all of it can be stopped. wait_jobs waits for all of these.
in_background() {
	set -m
	"$@" &
	jobs+=("$!")
	set +m
}

wait_jobs() {
	local pid
	for pid in "${jobs[@]}"; do
		wait "$pid" || true # the counts tell
	done
	jobs=()
}

# kept NAME COMMAND [ARG...] keeps the output for later, in $work/NAME.out.
kept() {
	"${@:2}" >"$work/$1.out" 2>&1
}

# node_tests FOLDER NAME [FILE...] runs test files of the folder, by default all; the
# counts go to $work/NAME.tap. One that does not end fails after a quarter of an hour.
node_tests() {
	(
		cd "$1"
		files=("${@:3}")
		[ ${#files[@]} -gt 0 ] || files=(test/*.test.mjs)
		node --test --test-concurrency=1 --test-timeout=900000 \
			--test-reporter=spec --test-reporter-destination=stdout \
			--test-reporter=tap --test-reporter-destination="$work/$2.tap" "${files[@]}"
	)
}

# count_tap FILE and count_junit FILE add what a suite did to the totals.
count_tap() {
	local key value
	local -A got=()
	while read -r _ key value; do
		got[$key]=$value
	done < <(grep -a -E '^# (pass|fail|cancelled|skipped|todo) [0-9]+$' "$1")
	passed=$((passed + ${got[pass]:-0}))
	failed=$((failed + ${got[fail]:-1} + ${got[cancelled]:-0}))
	skipped=$((skipped + ${got[skipped]:-0} + ${got[todo]:-0}))
}

count_junit() {
	local p f s
	read -r p f s < <(python3 -c '
import sys, xml.etree.ElementTree as tree
n = [int(s.get(k)) for s in tree.parse(sys.argv[1]).iter("testsuite") for k in ("tests", "failures", "errors", "skipped")]
print(n[0] - n[1] - n[2] - n[3], n[1] + n[2], n[3])' "$1" 2>/dev/null || echo "0 1 0")
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
}

# finish prints the totals, notes them for `make test`, and says whether all is well.
finish() {
	local line="$suite: $passed passed, $failed failed, $skipped skipped"
	echo "$line"
	[ -z "${LINESHAFT_TEST_SUMMARY:-}" ] || echo "$line" >>"$LINESHAFT_TEST_SUMMARY"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
