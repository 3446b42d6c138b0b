package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/goccy/go-yaml"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/api/examples"
	"github.com/lineshaft/lineshaft/internal/problem"
)

// update rewrites the checked-in files instead of comparing them.
var update = flag.Bool("update", false, "write api/openapi.yaml and api/examples again")

// contract is the folder of the checked-in contract.
const contract = "../../api"

func TestContractOpenAPIIsCheckedIn(t *testing.T) {
	t.Parallel()
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, filepath.Join(contract, "openapi.yaml"), text)
}

func compareFile(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code says; run: make generate, or go test ./internal/api -run TestContract -update (%v)", path, err)
	}
}

// Each example decodes into the type of its operation without an unknown field, and
// encodes to the same text again: none is stale, and none lacks what is always there.
// With -update, what is lacking is added.
func TestContractExamplesRoundTrip(t *testing.T) {
	t.Parallel()
	kinds := map[string][]reflect.Type{}
	add := func(text json.RawMessage, kind reflect.Type) { kinds[string(text)] = append(kinds[string(text)], kind) }
	s := testServer()
	s.eachExample(func(_ huma.ValidateMode, schema *huma.Schema, text json.RawMessage) {
		if schema.Ref != "" { // not a text or any object
			add(text, s.api.OpenAPI().Components.Schemas.TypeFromRef(schema.Ref))
		}
	})
	add(example("error"), reflect.TypeFor[problem.Document]())
	add(example("follow_repository_request"), reflect.TypeFor[UpdateFactoryRequest]())
	add(example("unlink_repository_request"), reflect.TypeFor[UpdateFactoryRequest]())
	entries, err := examples.Files.ReadDir(".")
	if err != nil || len(entries) < 60 {
		t.Fatalf("%d examples, %v", len(entries), err)
	}
	for _, entry := range entries {
		text := string(example(strings.TrimSuffix(entry.Name(), ".json")))
		if kinds[text] == nil {
			t.Errorf("api/examples/%s is the example of no operation", entry.Name())
		}
		for _, kind := range kinds[text] {
			var again bytes.Buffer
			if err := json.Indent(&again, roundTrip(t, kind, text), "", "  "); err != nil {
				t.Error(err)
			}
			compareFile(t, filepath.Join(contract, "examples", entry.Name()), append(again.Bytes(), '\n'))
		}
	}
	for text, of := range kinds {
		if strings.HasSuffix(text, "\n") {
			continue // a file; the others are in operations.json
		}
		for _, kind := range of {
			if again := roundTrip(t, kind, text); string(again) != text {
				t.Errorf("the example of %s, written again, is %s, but was %s", kind, again, text)
			}
		}
	}
}

func roundTrip(t *testing.T, kind reflect.Type, text string) []byte {
	t.Helper()
	value := reflect.New(kind).Interface()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		t.Errorf("the example of %s: %v: %s", kind, err, text)
	}
	again, err := json.Marshal(value)
	if err != nil {
		t.Errorf("the example of %s: %v", kind, err)
	}
	return again
}

func exampleOf(media *huma.MediaType) json.RawMessage {
	text, _ := media.Example.(json.RawMessage)
	return text
}

// eachExample visits the JSON examples of all operations.
func (s *server) eachExample(visit func(mode huma.ValidateMode, schema *huma.Schema, text json.RawMessage)) {
	for _, op := range operationsOf(s.api.OpenAPI()) {
		if op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil { // a file has no schema
			media := op.RequestBody.Content["application/json"]
			visit(huma.ModeWriteToServer, media.Schema, exampleOf(media))
		}
		for _, response := range op.Responses {
			if media := response.Content["application/json"]; media != nil {
				visit(huma.ModeReadFromServer, media.Schema, exampleOf(media))
			}
		}
	}
}

func TestContractExamplesOfRequestsAreAccepted(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for _, step := range []struct {
		example, path string
		status        int
	}{
		{"create_secret_request", "/secrets", 201}, // which the run's request names
		{"run_agent_request", "/agent/runs", 200},
		{"create_apikey_request", "/apikeys", 201},
		{"create_factory_request", "/factory", 201},
		{"environment_request", "/agent/environments", 201},
		{"cancel_runs_request", "/agent/runs/cancel", 200},
		{"run_followup_request", "/agent/runs/" + b.start(lineshaft.NewRun{Prompt: "x"}) + "/followups", 200},
	} {
		b.check(t, scenario{
			name: step.example, method: post, path: step.path, as: lineshaft.RoleAdmin, body: string(example(step.example)), status: step.status,
		})
	}
}

func TestH1OpenAPIIsServed(t *testing.T) {
	t.Parallel()
	b := newServer(t, func(d *Deps) { d.Version = "9.8.7" })
	asJSON := b.check(t, scenario{method: get, path: "/api/v1/openapi.json", status: 200, has: []string{`"openapi":"3.1.0"`, `"version":"9.8.7"`}, not: []string{"$schema", "ErrorModel"}})
	asYAML := b.check(t, scenario{method: get, path: "/api/v1/openapi.yaml", status: 200})
	var fromJSON, fromYAML any
	if err := json.Unmarshal(asJSON.Body.Bytes(), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(asYAML.Body.Bytes(), &fromYAML); err != nil {
		t.Fatal(err)
	}
	normal, err := json.Marshal(fromYAML)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(normal, &fromYAML); err != nil || !reflect.DeepEqual(fromJSON, fromYAML) {
		t.Errorf("the two documents differ (%v)", err)
	}
}

func TestContractEveryOperationIsDocumented(t *testing.T) {
	t.Parallel()
	s := testServer()
	for _, row := range s.operations() {
		item := s.api.OpenAPI().Paths[row.Path]
		op := map[string]*huma.Operation{get: item.Get, post: item.Post, put: item.Put, patch: item.Patch, del: item.Delete}[row.Method]
		if op.Summary == "" || len(op.Tags) != 1 {
			t.Errorf("%s has no summary or tag", row.ID)
		}
		for _, status := range []string{"400", "429", "500", "503"} {
			if r := op.Responses[status]; r == nil || r.Content["application/problem+json"] == nil {
				t.Errorf("%s does not document %s", row.ID, status)
			}
		}
		public := row.Permission == lineshaft.PermissionNone
		if (op.Responses["401"] == nil) != public || (op.Responses["403"] == nil) != public || (len(op.Security) == 0) != public {
			t.Errorf("%s: authentication is not documented as it is", row.ID)
		}
		if strings.Contains(row.Path, "{") && op.Responses["404"] == nil {
			t.Errorf("%s does not document 404", row.ID)
		}
		if op.Responses["default"] != nil {
			t.Errorf("%s has a default answer", row.ID)
		}
		for status, response := range op.Responses {
			if media := response.Content["application/json"]; media != nil && exampleOf(media) == nil {
				t.Errorf("%s: no example for %s", row.ID, status)
			}
		}
		if op.RequestBody != nil && !s.docs[op.OperationID].Upload && exampleOf(op.RequestBody.Content["application/json"]) == nil {
			t.Errorf("%s: no example of a request", row.ID)
		}
	}
}

func TestContractExamplesFitTheirSchemas(t *testing.T) {
	t.Parallel()
	s := testServer()
	s.eachExample(func(mode huma.ValidateMode, schema *huma.Schema, text json.RawMessage) {
		s.conformsAs(t, mode, schema, text)
	})
	change := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[UpdateFactoryRequest](), true, "")
	for _, name := range []string{"follow_repository_request", "unlink_repository_request"} {
		s.conformsAs(t, huma.ModeWriteToServer, change, example(name))
	}
}

func TestContractPublishedOperationIDs(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for _, route := range Routes() {
		ids[route.OperationID] = route.Method + " " + strings.TrimPrefix(route.Path, Prefix)
	}
	for id, want := range map[string]string{
		"runAgent": "POST /agent/run", "createRun": "POST /agent/runs", "listRuns": "GET /agent/runs", "getRun": "GET /agent/runs/{runId}",
		"getRunTimeline": "GET /agent/runs/{runId}/timeline", "getRunConversation": "GET /agent/runs/{runId}/conversation",
		"getRunTranscript": "GET /agent/runs/{runId}/transcript", "cancelRun": "POST /agent/runs/{runId}/cancel",
		"submitRunFollowup": "POST /agent/runs/{runId}/followups", "getRunByExternalReferenceURL": "GET /agent/run-by-external-reference",
		"getConversation": "GET /agent/conversations/{conversationId}", "getConversationTranscript": "GET /agent/conversations/{conversationId}/transcript",
		"listModels": "GET /agent/models", "getArtifact": "GET /agent/artifacts/{artifactUid}", "downloadArtifact": "GET /agent/artifacts/{artifactUid}/download",
		"listEnvironments":               "GET /agent/environments",
		"listAgents":                     "GET /agent",
		"listConnectedSelfHostedWorkers": "GET /agent/connected-self-hosted-workers",
		"createScheduledAgent":           "POST /agent/schedules", "listScheduledAgents": "GET /agent/schedules", "getScheduledAgent": "GET /agent/schedules/{scheduleId}",
		"updateScheduledAgent": "PUT /agent/schedules/{scheduleId}", "deleteScheduledAgent": "DELETE /agent/schedules/{scheduleId}",
		"pauseScheduledAgent": "POST /agent/schedules/{scheduleId}/pause", "resumeScheduledAgent": "POST /agent/schedules/{scheduleId}/resume",
	} {
		if ids[id] != want {
			t.Errorf("%s is %q, want %q", id, ids[id], want)
		}
	}
}

func TestContractNothingIsNullable(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{
		"RunItem.finished_at": true, "RunItem.started_at": true, "RunFollowupResponse.followup_id": true,
		"ConversationFollowupResponse.followup_id": true, "AmbientAgentConfig.credential_strategy": true,
		"CreateAgentRequest.credential_strategy": true, "UpdateAgentRequest.credential_strategy": true,
		"CloudEnvironment.last_task_run_timestamp": true, "CloudEnvironmentConfig.description": true, "EnvironmentTask.started_at": true,
		"Factory.alias": true, "Factory.description": true, "AgentVariant.last_run_timestamp": true,
		"ScheduledAgentItem.last_spawn_error": true, "ScheduleHistory.last_ran": true, "ScheduleHistory.next_run": true,
	}
	for name, schema := range testServer().api.OpenAPI().Components.Schemas.Map() {
		if name == "ErrorModel" {
			continue
		}
		for field, property := range schema.Properties {
			if property.Nullable != allowed[name+"."+field] {
				t.Errorf("%s.%s: nullable is %v", name, field, property.Nullable)
			}
		}
	}
}

func TestH1DocsPage(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	w := b.check(t, scenario{method: get, path: "/api/v1/docs", status: 200, has: []string{"<h1>Lineshaft API</h1>", "Start a run", "AmbientAgentConfig", "text/event-stream"}, not: []string{"<script", "src="}})
	page := w.Body.String()
	for _, row := range b.srv.operations() {
		if !strings.Contains(page, `<details id="`+row.ID+`">`) {
			t.Errorf("%s is not on the page", row.ID)
		}
	}
	// Addresses of other hosts appear in examples only, never where a browser would fetch them.
	for _, link := range regexp.MustCompile(`(href|action|url)\s*[=(]\s*["']?(https?:)?//`).FindAllString(page, -1) {
		t.Errorf("the page refers to another host: %s", link)
	}
	if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy %q", policy)
	}
}

// H-1: the line that the page has for each operation makes that call, with the example as its body.
func TestH1DocsPageHasALineForEachCall(t *testing.T) {
	t.Parallel()
	s := newServer(t).srv
	doc := s.api.OpenAPI()
	var script strings.Builder
	script.WriteString("curl() { printf '%s\\037' \"$@\"; printf '\\036'; }\n")
	type call struct {
		op   *huma.Operation
		view docsOperation
	}
	var calls []call
	for _, row := range s.operations() {
		item := doc.Paths[row.Path]
		op := map[string]*huma.Operation{get: item.Get, post: item.Post, put: item.Put, patch: item.Patch, del: item.Delete}[row.Method]
		calls = append(calls, call{op, operationView(doc, op)})
		script.WriteString(calls[len(calls)-1].view.Sample + "\n")
	}
	shell := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script.String())
	shell.Env = []string{"LINESHAFT_URL=http://server", "LINESHAFT_API_KEY=key", "FILE=file"}
	for _, c := range calls {
		for _, name := range pathParameter.FindAllStringSubmatch(c.view.Path, -1) {
			shell.Env = append(shell.Env, name[1]+"=of "+name[1])
		}
	}
	out, err := shell.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &script)
	}
	made := strings.Split(strings.TrimSuffix(string(out), "\036"), "\036")
	if len(made) != len(calls) {
		t.Fatalf("%d calls of %d operations", len(made), len(calls))
	}
	for i, c := range calls {
		args := strings.Split(made[i], "\037")
		option := func(name string) string {
			if at := slices.Index(args, name); at >= 0 {
				return args[at+1]
			}
			return ""
		}
		want := "http://server" + pathParameter.ReplaceAllString(c.view.Path, "of $1")
		if option("-X") != c.op.Method || !slices.Contains(args, want) {
			t.Errorf("%s: %q is not %s %s", c.op.OperationID, args, c.op.Method, want)
		}
		if keyed := slices.Contains(args, "Authorization: Bearer key"); keyed == (c.view.Permission == "none") {
			t.Errorf("%s needs %s: %q", c.op.OperationID, c.view.Permission, args)
		}
		if c.view.Request != nil && option("-d") != c.view.Request.Example {
			t.Errorf("%s sends %s, the example is %s", c.op.OperationID, option("-d"), c.view.Request.Example)
		}
	}
}

func TestServersAreIndependent(t *testing.T) {
	t.Parallel()
	// Built side by side, as parallel tests do, under the race detector.
	done := make(chan int, 4)
	for range cap(done) {
		go func() { done <- len(testServer().api.OpenAPI().Components.Schemas.Map()) }()
	}
	want := len(testServer().api.OpenAPI().Components.Schemas.Map())
	for range cap(done) {
		if got := <-done; got != want {
			t.Errorf("%d schemas, want %d", got, want)
		}
	}
}
