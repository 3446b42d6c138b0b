package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/rate"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// message is a JSON-RPC call of a tool.
func message(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
}

const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// What is no message is refused as every other request of this server is: as a
// problem, with nothing of the inside.
func TestI4HostileRequests(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	for name, tc := range map[string]struct {
		method string
		body   string
		header map[string]string
		status int
		has    string
	}{
		"no JSON":              {body: "hello", status: 400, has: "invalid_request"},
		"no end":               {body: list[:20], status: 400, has: "invalid_request"},
		"empty":                {body: "", status: 400, has: "invalid_request"},
		"null":                 {body: "null", status: 400, has: "invalid_request"},
		"a number":             {body: "7", status: 400, has: "invalid_request"},
		"no message":           {body: "{}", status: 400, has: "invalid_request"},
		"old version":          {body: `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, status: 400, has: "invalid_request"},
		"NUL":                  {body: message("get_run", `{"run_id":"\u0000"}`), status: 400, has: "invalid_request"},
		"not UTF-8":            {body: message("get_run", "{\"run_id\":\"\xff\"}"), status: 400, has: "invalid_request"},
		"deep":                 {body: message("get_run", strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)), status: 400, has: "invalid_request"},
		"large":                {body: message("get_run", `"`+strings.Repeat("x", 17<<20)+`"`), status: 413, has: "payload_too_large"},
		"batch":                {body: "[" + list + "," + list + "]", status: 400, has: "batches are not taken"},
		"batch, with space":    {body: " \n[" + list + "]", status: 400, has: "batches are not taken"},
		"accepts JSON alone":   {body: list, header: map[string]string{"Accept": "application/json"}, status: 400, has: "Accept must contain both"},
		"another protocol":     {body: list, header: map[string]string{"Mcp-Protocol-Version": "1999-01-01"}, status: 400, has: "nsupported protocol version"},
		"compressed":           {body: list, header: map[string]string{"Content-Encoding": "gzip"}, status: 400, has: "not compressed"},
		"another method":       {body: `{"jsonrpc":"2.0","id":7,"method":"secrets/list"}`, status: 200, has: `"id":7,"error":{"code":-32601`},
		"another note":         {body: `{"jsonrpc":"2.0","method":"secrets/list"}`, status: 400, has: "invalid_request"},
		"foreign origin":       {body: list, header: map[string]string{"Origin": "https://attacker.example"}, status: 403, has: "another origin"},
		"null origin":          {body: list, header: map[string]string{"Origin": "null"}, status: 403, has: "another origin"},
		"rebound name":         {body: list, header: map[string]string{"Origin": "http://rebound.example", "Host": "rebound.example"}, status: 403, has: "another origin"},
		"allowed origin":       {body: list, header: map[string]string{"Origin": "https://app.example"}, status: 200, has: "list_factories"},
		"own origin":           {body: list, header: map[string]string{"Origin": s.url}, status: 200, has: "list_factories"},
		"a stream":             {method: http.MethodGet, status: 405, has: "method_not_allowed"},
		"the end of a session": {method: http.MethodDelete, header: map[string]string{"Mcp-Session-Id": "x"}, status: 405, has: "method_not_allowed"},
		"unknown session":      {body: list, header: map[string]string{"Mcp-Session-Id": "nobody's"}, status: 200, has: "list_factories"},
		"answer to nothing":    {body: `{"jsonrpc":"2.0","id":1,"result":{}}`, status: 202},
		"unknown tool":         {body: message("drop_tables", "{}"), status: 200, has: `there is no tool`},
		"long name of a tool":  {body: message(strings.Repeat("x", 1<<20), "{}"), status: 200, has: `there is no tool`},
		"arguments as a list":  {body: message("get_run", "[1]"), status: 200, has: "invalid_request"},
		"arguments as a text":  {body: message("get_run", `"x"`), status: 200, has: "invalid_request"},
		"listening":            {body: `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}`, header: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}, status: 404, has: "method not found"},
	} {
		method := tc.method
		if method == "" {
			method = http.MethodPost
		}
		status, body := s.send(method, s.adminKey, tc.body, tc.header)
		if tc.status != 0 && status != tc.status || !strings.Contains(body, tc.has) || len(body) > 5000 && status != 200 {
			t.Errorf("%s: %d %.600s", name, status, body)
		}
		if status >= 400 && !strings.Contains(body, `"jsonrpc"`) && !strings.Contains(body, `"trace_id"`) {
			t.Errorf("%s is no problem: %.600s", name, body)
		}
	}
	if strings.Contains(s.log.String(), `"level":"ERROR"`) {
		t.Errorf("strangers fill the log: %s", s.log)
	}
}

// Every argument of every tool, with every wrong type: always an answer, never a fault.
func TestI4WrongArguments(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	c := s.as(s.adminKey)
	found, err := c.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	wrong := []any{nil, true, -1, 1e300, 0.5, "", strings.Repeat("y", 5000), []any{}, []any{[]any{}}, args{}, args{"in": 1}}
	tried := 0
	for _, tool := range found.Tools {
		raw, err := json.Marshal(tool.InputSchema)
		var input struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err != nil || json.Unmarshal(raw, &input) != nil {
			t.Fatal(err)
		}
		for name := range input.Properties {
			for _, value := range wrong {
				in := args{}
				for k, v := range attempts()[tool.Name] {
					in[k] = v
				}
				in[name] = value
				text := words(c.call(tool.Name, in))
				if tried++; strings.HasPrefix(text, "internal_error") || len(text) > 5000 {
					t.Errorf("%s.%s = %.40v: %.300s", tool.Name, name, value, text)
				}
			}
		}
	}
	if tried < 500 || strings.Contains(s.log.String(), `"level":"ERROR"`) {
		t.Errorf("%d tries; %s", tried, s.log)
	}
}

// Without a usable key the answer is that of the API, byte for byte.
func TestI4UnusableKeysGetTheAnswerOfTheAPI(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/agent/runs", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var want strings.Builder
	if err := answer.Write(&want); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "ls_unknown_unknown_unknown", "ls_run_unknown"} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			status, body := s.send(method, key, list, nil)
			if status != http.StatusUnauthorized || !strings.HasSuffix(want.String(), body) || body == "" {
				t.Errorf("%s %q: %d %s", method, key, status, body)
			}
		}
	}
}

// There are no sessions: a message acts as its own key, anyone who began.
func TestI4AMessageActsAsItsOwnKey(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	begin := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
	if status, body := s.post(s.adminKey, begin, nil); status != 200 || !strings.Contains(body, `"protocolVersion":"2025-11-25"`) {
		t.Fatal(status, body)
	}
	for _, role := range []lineshaft.Role{lineshaft.RoleMember, lineshaft.RoleViewer, lineshaft.RoleWorker} {
		may := role == lineshaft.RoleMember
		status, body := s.post(s.key(role), message("dispatch", `{"prompt":"x"}`), map[string]string{"Mcp-Session-Id": "of-the-admin", "Mcp-Protocol-Version": "2025-11-25"})
		if status != 200 || strings.Contains(body, "not_authorized") == may {
			t.Errorf("%s: %d %s", role, status, body)
		}
	}
	page, err := s.control.ListRuns(t.Context(), s.admin, lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: 10})
	if err != nil || len(page.Runs) != 1 || page.Runs[0].Creator.UID == s.admin.Principal.UID {
		t.Errorf("%v %+v", err, page.Runs)
	}
}

// Every message is one step of the rate limit.
func TestI4TheRateLimitOfTheAPIHolds(t *testing.T) {
	t.Parallel()
	s := newSite(t, storetest.SQLite(t), func(d *api.Deps) { d.Rate = rate.New(3) })
	for range 3 {
		if status, body := s.post(s.adminKey, list, nil); status != 200 {
			t.Fatal(status, body)
		}
	}
	if status, body := s.post(s.adminKey, list, nil); status != 429 || !strings.Contains(body, "3 requests a minute") {
		t.Error(status, body)
	}
}

// One wide line per call, with the request that it belongs to and without arguments.
func TestI4CallsAreLogged(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	s.post(s.adminKey, message("get_run", `{"run_id":"does-not-leak"}`), map[string]string{"X-Request-Id": "request-7"})
	var lines []map[string]any
	for line := range strings.Lines(s.log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["msg"] == "tool call" || fields["msg"] == "request" {
			lines = append(lines, fields)
		}
	}
	if len(lines) != 2 || lines[0]["tool"] != "get_run" || lines[0]["code"] != "resource_not_found" || lines[1]["route"] != path ||
		lines[0]["request_id"] != lines[1]["request_id"] || lines[0]["trace_id"] != lines[1]["trace_id"] || lines[0]["caller"] != s.admin.Principal.UID {
		t.Errorf("%v", lines)
	}
	if strings.Contains(s.log.String(), "does-not-leak") {
		t.Error("arguments are in the log")
	}
}

// Many clients of several keys at once: nobody gets another's tools.
func TestI4ManyAtOnce(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	var wg sync.WaitGroup
	for _, role := range []lineshaft.Role{lineshaft.RoleMember, lineshaft.RoleViewer, lineshaft.RoleWorker} {
		key := s.key(role)
		for range 4 {
			wg.Go(func() {
				for range 5 {
					_, body := s.post(key, list, nil)
					if strings.Contains(body, `"dispatch"`) != (role == lineshaft.RoleMember) || strings.Contains(body, `"get_run"`) != (role != lineshaft.RoleWorker) {
						t.Errorf("%s: %.200s", role, body)
					}
				}
			})
		}
	}
	wg.Wait()
}

// The SDK panics when it is to write defaults into null; each panic is a stack in the log.
func TestI4ArgumentsThatAreNoObject(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	viewer := s.key(lineshaft.RoleViewer)
	for _, tool := range []string{"list_runs", "list_factories", "get_run", "wait_for_run", "get_run_events", "list_deliveries"} {
		for _, arguments := range []string{"null", " null ", "[]", "7", `"x"`, "true"} {
			status, body := s.post(viewer, message(tool, arguments), nil)
			fits := strings.HasPrefix(tool, "list_") && tool != "list_deliveries" && strings.TrimSpace(arguments) == "null"
			if status != http.StatusOK || strings.Contains(body, "internal error") || strings.Contains(body, "invalid_request") == fits {
				t.Errorf("%s %s: %d %.300s", tool, arguments, status, body)
			}
		}
		bare := strings.Replace(message(tool, "null"), `,"arguments":null`, "", 1)
		if _, body := s.post(viewer, bare, nil); strings.Contains(body, "internal error") {
			t.Errorf("%s: %.300s", tool, body)
		}
	}
	if strings.Contains(s.log.String(), `"level":"ERROR"`) {
		t.Errorf("%.1000s", s.log.String())
	}
}
