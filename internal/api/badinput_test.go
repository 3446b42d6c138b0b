package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// create is a scenario that asks for a run as a member.
func create(name, body string, status int, code lineshaft.Code, has ...string) scenario {
	return scenario{name: name, method: post, path: "/agent/runs", as: lineshaft.RoleMember, body: body, status: status, code: code, has: has}
}

// runs counts the runs there are.
func (b *bench) runs(t *testing.T) int {
	t.Helper()
	w := b.check(t, scenario{method: get, path: "/agent/runs?limit=500", as: lineshaft.RoleAdmin, status: 200})
	return len(decode[ListRunsResponse](t, w).Runs)
}

func TestH3BodiesThatAreNotAcceptable(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	prompt := func(text string) string { return `{"prompt":"` + text + `"}` }
	b.play(t, []scenario{
		create("empty", "", 400, "invalid_request", "request body is required"),
		create("white space", "  \n", 400, "invalid_request"),
		create("null", "null", 400, "invalid_request", "expected object"),
		create("an array", "[]", 400, "invalid_request", "expected object"),
		create("a string", `"x"`, 400, "invalid_request", "expected object"),
		create("not JSON", "prompt=x", 400, "invalid_request", "not acceptable JSON"),
		create("half of it", `{"prompt":"x"`, 400, "invalid_request"),
		create("two values", `{"prompt":"x"}{"prompt":"y"}`, 400, "invalid_request", "something follows"),
		create("trailing comma", `{"prompt":"x",}`, 400, "invalid_request"),
		create("invalid UTF-8", prompt("\xff\xfe"), 400, "invalid_request", "invalid UTF-8"),
		create("overlong UTF-8", prompt("\xc0\x80"), 400, "invalid_request", "invalid UTF-8"),
		create("NUL", prompt(`a\u0000b`), 400, "invalid_request", "U+0000"),
		create("NUL in a key", `{"prompt":"x","metadata":{"a\u0000":"b"}}`, 400, "invalid_request", "U+0000"),
		create("NUL in an unknown field", `{"prompt":"x","other":["\u0000"]}`, 400, "invalid_request", "U+0000"),
		create("an escaped backslash is no NUL", prompt(`a\\u0000b`), 200, ""),
		create("a byte-order mark", "\xef\xbb\xbf"+prompt("x"), 400, "invalid_request"),
		create("too deep", `{"prompt":"x","y":`+strings.Repeat("[", 600)+strings.Repeat("]", 600)+`}`, 400, "invalid_request", "deeper"),
		create("as deep as allowed", `{"prompt":"x","y":`+strings.Repeat("[", jsontext.MaxDepth-1)+strings.Repeat("]", jsontext.MaxDepth-1)+`}`, 200, ""),
		create("no prompt", `{}`, 400, "invalid_request", "prompt: "),
		create("no text as mode", `{"prompt":"x","mode":""}`, 400, "invalid_request", "mode: "),
		create("null as mode", `{"prompt":"x","mode":null}`, 200, ""),
		create("empty prompt", prompt(""), 400, "invalid_request", "prompt: "),
		create("prompt of 1 MiB", prompt(strings.Repeat("x", 1<<20)), 200, ""),
		create("prompt of 1 MiB and a byte", prompt(strings.Repeat("x", 1<<20+1)), 400, "invalid_request", "prompt: "),
		create("prompt of 1 MiB in fewer characters", prompt(strings.Repeat("é", 1<<19)), 200, ""),
		create("prompt above 1 MiB in fewer characters", prompt(strings.Repeat("é", 1<<19+1)), 400, "invalid_request", "prompt: "),
		create("body above 16 MiB", prompt(strings.Repeat("x", 16<<20)), 413, "payload_too_large"),
		{
			name: "body above 1 MiB elsewhere", method: post, path: "/apikeys", as: lineshaft.RoleAdmin,
			body: prompt(strings.Repeat("x", 1<<20)), status: 413, code: "payload_too_large",
		},
		{name: "a body where none is needed", method: post, path: "/agent/runs/x/cancel", as: lineshaft.RoleMember, body: "garbage", status: 400, code: "invalid_request"},
	})
	if n := b.runs(t); n != 5 {
		t.Errorf("%d runs; a 4xx must not create anything", n)
	}
}

func TestH3ContentTypeDoesNotMatter(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for _, kind := range []string{"", "application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/cbor", "nonsense;;", "application/json; charset=latin1"} {
		header := map[string]string{"Content-Type": kind}
		if kind == "" {
			header = nil
		}
		b.check(t, scenario{method: post, path: "/agent/runs", as: lineshaft.RoleMember, header: header, body: `{"prompt":"x"}`, status: 200})
	}
	b.check(t, scenario{
		method: post, path: "/agent/runs", as: lineshaft.RoleMember, header: map[string]string{"Content-Encoding": "gzip"}, body: "\x1f\x8b", status: 400,
		code: "invalid_request", has: []string{"Content-Encoding: "},
	})
	b.check(t, scenario{method: post, path: "/agent/runs", as: lineshaft.RoleMember, header: map[string]string{"Content-Encoding": "identity"}, body: `{"prompt":"x"}`, status: 200})
	for _, accept := range []string{"*/*", "application/octet-stream", "text/html", "garbage", "application/json;q=0"} {
		w := b.check(t, scenario{method: get, path: "/agent/runs", as: lineshaft.RoleMember, header: map[string]string{"Accept": accept}, status: 200})
		if w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("Accept %q: answered as %q", accept, w.Header().Get("Content-Type"))
		}
	}
}

// wrong lists for each kind of field values that are not of that kind.
func wrong(kind string) []string {
	all := map[string]string{"string": `"x"`, "number": `7`, "boolean": `true`, "array": `[1]`, "object": `{"a":1}`}
	var values []string
	for k, v := range all {
		if k != kind {
			values = append(values, v)
		}
	}
	return values
}

func TestH3WrongTypesNameTheirField(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	kinds := map[string]string{
		"prompt": "string", "mode": "string", "skill": "string", "config": "object", "title": "string", "team": "boolean",
		"agent_identity_uid": "string", "conversation_id": "string", "attachments": "array", "parent_run_id": "string",
		"interactive": "boolean", "metadata": "object",
		"config.name": "string", "config.model_id": "string", "config.base_prompt": "string", "config.environment_id": "string",
		"config.worker_host": "string", "config.skill_spec": "string", "config.skills": "array", "config.harness": "object",
		"config.idle_timeout_minutes": "number", "config.runner_id": "string", "config.secrets": "array",
		"config.computer_use_enabled": "boolean", "config.timeout_minutes": "number", "config.stall_minutes": "number",
		"config.queue_timeout_minutes": "number", "config.budget": "object", "config.retry": "object", "config.concurrency": "object",
		"config.credential_strategy": "string", "config.harness.type": "string", "config.harness.model_id": "string",
		"config.harness.reasoning_level": "string", "config.harness.command": "array", "config.budget.max_tokens": "number",
		"config.budget.max_cost_usd": "number", "config.retry.max_attempts": "number", "config.concurrency.key": "string",
		"config.concurrency.policy": "string",
	}
	var list []scenario
	for field, kind := range kinds {
		for _, value := range wrong(kind) {
			list = append(list, create(field+" as "+value, nest(field, value), 400, "invalid_request", `"detail":"`+field))
		}
	}
	for _, value := range []string{`"x"`, `7`, `true`} {
		list = append(list, create("config.mcp_servers as "+value, nest("config.mcp_servers", value), 400, "invalid_request", "config.mcp_servers: "))
	}
	b.play(t, list)
	if n := b.runs(t); n != 0 {
		t.Errorf("%d runs were created", n)
	}
}

// nest makes a request body with the value at a dotted path, and whatever else is
// required beside it.
func nest(path, value string) string {
	parts := strings.Split(path, ".")
	body := value
	for i := len(parts) - 1; i >= 0; i-- {
		beside := ""
		if i > 0 && parts[i-1] == "concurrency" && parts[i] != "key" {
			beside = `,"key":"k"`
		}
		if i == 0 && parts[0] != "prompt" {
			beside = `,"prompt":"x"`
		}
		body = `{"` + parts[i] + `":` + body + beside + `}`
	}
	return body
}

func TestH3ValuesOutOfRange(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	long := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	many := func(n int) string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprint("k", i)] = "v"
		}
		text, _ := json.Marshal(m)
		return string(text)
	}
	at := func(field, value string, status int) scenario {
		code := lineshaft.Code("")
		var has []string
		if status == 400 {
			code, has = "invalid_request", []string{`"detail":"` + field}
		}
		return create(field+" "+value[:min(len(value), 30)], nest(field, value), status, code, has...)
	}
	b.play(t, []scenario{
		at("title", long(200), 200), at("title", long(201), 400),
		at("config.name", long(200), 200), at("config.name", long(201), 400),
		at("config.model_id", long(200), 400), // 400 bytes
		at("config.idle_timeout_minutes", "0", 200), at("config.idle_timeout_minutes", "60", 200),
		at("config.idle_timeout_minutes", "61", 400), at("config.idle_timeout_minutes", "-1", 400),
		at("config.idle_timeout_minutes", "1.5", 400), at("config.idle_timeout_minutes", "1e400", 400),
		at("config.idle_timeout_minutes", "9223372036854775808", 400), at("config.idle_timeout_minutes", "5e0", 400),
		at("config.timeout_minutes", "0", 400), at("config.timeout_minutes", "10081", 400),
		at("config.queue_timeout_minutes", "43201", 400), at("config.stall_minutes", "0", 400),
		at("config.retry.max_attempts", "0", 400), at("config.retry.max_attempts", "21", 400),
		at("config.budget.max_tokens", "-1", 400), at("config.budget.max_tokens", "1e30", 400),
		at("config.budget.max_cost_usd", "-0.01", 400), at("config.budget.max_cost_usd", "1e10", 400), at("config.budget.max_cost_usd", "0.5", 200),
		at("config.concurrency.key", `""`, 400), at("config.concurrency.key", long(257), 400),
		at("config.concurrency.policy", `"whenever"`, 400), at("config.harness.type", `"emacs"`, 400),
		at("config.credential_strategy", `"ROOT"`, 400), at("mode", `"yolo"`, 400),
		at("metadata", many(20), 200), at("metadata", many(21), 400),
		at("metadata", `{"":"x"}`, 400), at("metadata", `{"a b":"x"}`, 400), at("metadata", `{"`+strings.Repeat("k", 65)+`":"x"}`, 400),
		at("metadata", `{"a":"`+strings.Repeat("x", 257)+`"}`, 400), at("metadata", `{"a":"`+strings.Repeat("é", 129)+`"}`, 400),
		at("metadata", `{"a":1}`, 400), at("metadata", `{"a":{"b":"c"}}`, 400),
		at("parent_run_id", `"nope"`, 400),
	})
}

func TestR2Attachments(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	file := func(name, kind, data string) string {
		return fmt.Sprintf(`{"file_name":%q,"mime_type":%q,"data":%q}`, name, kind, data)
	}
	with := func(files ...string) string { return `{"prompt":"x","attachments":[` + strings.Join(files, ",") + `]}` }
	big := base64.StdEncoding.EncodeToString(make([]byte, 1<<19))
	numbered := func(n int) (files []string) {
		for i := range n {
			files = append(files, file(fmt.Sprint("f", i), "image/png", "eA=="))
		}
		return files
	}
	b.play(t, []scenario{
		create("five", with(numbered(5)...), 200, ""),
		create("six", with(numbered(6)...), 400, "invalid_request", "attachments: "),
		create("empty file", with(file("a", "text/plain", "")), 200, ""),
		create("1 MiB together", with(file("a", "a/b", big), file("b", "a/b", big)), 200, ""),
		create("no name", with(`{"mime_type":"a/b","data":"eA=="}`), 400, "invalid_request", "attachments[0].file_name: is required"),
		create("no type", with(`{"file_name":"a","data":"eA=="}`), 400, "invalid_request", "attachments[0].mime_type: is required"),
		create("no data", with(`{"file_name":"a","mime_type":"a/b"}`), 400, "invalid_request", "attachments[0].data: is required"),
		create("empty name", with(file("", "a/b", "eA==")), 400, "invalid_request", "attachments[0].file_name: "),
		create("a path", with(file("../a", "a/b", "eA==")), 400, "invalid_request", "attachments[0].file_name: "),
		create("dots", with(file("..", "a/b", "eA==")), 400, "invalid_request", "attachments[0].file_name: "),
		create("twice", with(file("a", "a/b", "eA=="), file("a", "a/b", "eA==")), 400, "invalid_request", "attachments[1].file_name: "),
		create("odd type", with(file("a", "png", "eA==")), 400, "invalid_request", "attachments[0].mime_type: "),
		create("not base64", with(file("a", "a/b", "%%%%")), 400, "invalid_request", "attachments[0].data: "),
		create("no padding", with(file("a", "a/b", "eA")), 400, "invalid_request", "attachments[0].data: "),
		create("line break", with(file("a", "a/b", "eA=\n=")), 400, "invalid_request", "attachments[0].data: "),
		create("loose end bits", with(file("a", "a/b", "eB==")), 400, "invalid_request", "attachments[0].data: "),
		create("URL alphabet", with(file("a", "a/b", "_-8=")), 400, "invalid_request", "attachments[0].data: "),
		create("not an object", with(`"a"`), 400, "invalid_request", "attachments[0]: "),
	})
}

func TestH3KnownButUnsupportedFieldsAreNamed(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	unsupported := map[string]string{
		"mode": `"plan"`, "on_behalf_of": `"a@b.c"`,
		"config.credential_strategy": `"CREATOR"`, "config.computer_use_model_id": `"m"`,
		"config.session_sharing": `{"public_access":"VIEWER"}`, "config.memory_stores": `[{"uid":"u"}]`,
		"config.inference_providers": `{"aws":{"disabled":true}}`, "config.harness_auth_secrets": `{"claude_auth_secret_name":"A"}`,
		"config.experimental": `{"a":1}`,
	}
	var list []scenario
	for field, value := range unsupported {
		list = append(list, create(field, nest(field, value), 422, "operation_not_supported", `"detail":"`+field+`: `))
	}
	for _, mode := range []string{`"orchestrate"`} {
		list = append(list, create("mode "+mode, nest("mode", mode), 422, "operation_not_supported", `"detail":"mode: `))
	}
	for field, value := range map[string]string{
		"mode": `"normal"`, "on_behalf_of": `""`, "skill": `""`, "config.skills": `[]`, "config.credential_strategy": `"EXECUTOR"`,
		"config.session_sharing": `{ }`, "config.memory_stores": `[ ]`, "config.experimental": `null`, "config.secrets": `null`, "config": `null`,
	} {
		list = append(list, create(field+" that asks for nothing", nest(field, value), 200, ""))
	}
	for field, value := range map[string]string{"agent_identity_uid": `"u"`, "config.environment_id": `"e"`} { // references to nothing
		list = append(list, create(field, nest(field, value), 400, "invalid_request", `"detail":"`+field+`: `))
	}
	list = append(list, create("null strategy", nest("config.credential_strategy", "null"), 200, ""))
	b.play(t, list)
}

func TestR4BadQueries(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	at := func(query, field string) scenario {
		return scenario{name: query, method: get, path: "/agent/runs?" + query, as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{`"detail":"` + field}}
	}
	fine := func(query string) scenario {
		return scenario{name: query, method: get, path: "/agent/runs?" + query, as: lineshaft.RoleViewer, status: 200}
	}
	b.play(t, []scenario{
		at("limit=0", "limit: "), at("limit=-1", "limit: "), at("limit=501", "limit: "), at("limit=abc", "limit: expected a whole number"), at("factory_only=maybe", "factory_only: expected true or false"), at("limit=1.5", "limit: "),
		at("limit=99999999999999999999", "limit: "), at("state=DONE", "state[0]: "), at("state=QUEUED&state=nope", "state[1]: "),
		at("state=QUEUED,FAILED", "state[0]: "), at("source=SMOKE_SIGNAL", "source[0]: "), at("task_status=idle", "task_status[0]: "),
		at("sort_by=prompt", "sort_by: "), at("sort_order=up", "sort_order: "), at("execution_location=MOON", "execution_location: "),
		at("artifact_type=POEM", "artifact_type: "), at("created_after=yesterday", "created_after: "), at("updated_before=2024-13-01", "updated_before: "),
		at("factory_only=maybe", "factory_only: "), at("cursor=garbage", "cursor: "), at("cursor=e30", "cursor: "),
		at("metadata[a]=1&metadata[b]=2&metadata[c]=3&metadata[d]=4&metadata[e]=5&metadata[f]=6", "metadata: "),
		at("q="+strings.Repeat("x", 1025), "q: "), at("q=%00", "q: "), at("q=%ff", "q: "), at("x%00=1", "x"), at("state=%zz", "the query"), at("a;b=1", "the query"),
		fine(""), fine("limit=1"), fine("limit=500"), fine("limit="), fine("unknown=1&unknown=2"), fine("state=QUEUED&state=FAILED"), fine("state=&state=QUEUED"),
		fine("source=API&source=LINEAR"), fine("metadata%5Ba%5D=b"), fine("metadata[a]="), fine("metadata=x"), fine("created_after=2024-01-01T00:00:00Z"), fine("updated_before=2024-01-01"),
		fine("updated_before=2024-01-01T00:00:00.123456%2B02:00"), fine("factory_only=1"), fine("q=%27%20OR%201=1--"), fine("sort_by=agent&sort_order=asc"),
		fine("environment_id=empty-environment"), fine("task_status=running&state=QUEUED"), fine("name=a&config_name=b"),
	})
}

func TestH2H9DuplicateHeaders(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for _, tc := range []struct {
		name   string
		header http.Header
		status int
	}{
		{"two keys", http.Header{"Authorization": {"Bearer " + b.key("member"), "Bearer " + b.key("member")}}, 401},
		{"two idempotency keys", http.Header{"Authorization": {"Bearer " + b.key("member")}, "Idempotency-Key": {"a", "b"}}, 400},
		{"one of each", http.Header{"Authorization": {"bEARER   " + b.key("member")}, "Idempotency-Key": {"a"}}, 200},
	} {
		r := httptest.NewRequestWithContext(t.Context(), post, Prefix+"/agent/runs", strings.NewReader(`{"prompt":"x"}`))
		r.Header = tc.header
		w := httptest.NewRecorder()
		b.srv.ServeHTTP(w, r)
		if w.Code != tc.status {
			t.Errorf("%s: %d %s", tc.name, w.Code, w.Body)
		}
	}
}

// A name in another case is an unknown field like any other: it neither sets a value nor
// replaces one that is required.
func TestH3NamesMatchExactly(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.play(t, []scenario{
		{name: "role beside Role", method: post, path: "/apikeys", as: lineshaft.RoleAdmin, body: `{"name":"k","role":"viewer","Role":"admin"}`, status: 201, has: []string{`"role":"viewer"`}},
		{name: "Role alone", method: post, path: "/apikeys", as: lineshaft.RoleAdmin, body: `{"name":"k","Role":"admin"}`, status: 400, has: []string{"role: is required"}},
		{name: "nested", method: post, path: "/agent/runs", as: lineshaft.RoleMember, body: `{"prompt":"p","Title":7,"config":{"NAME":7,"mcp_servers":{"t":{"command":"c","URL":"https://x.example"}}}}`, status: 200},
	})
}
