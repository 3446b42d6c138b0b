package api

import (
	"encoding/base64"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// parse decodes a request body as the server does, without its validation.
func parse[T any](t *testing.T, body string) T {
	t.Helper()
	var v T
	if err := unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return v
}

func TestR2RequestBecomesARun(t *testing.T) {
	t.Parallel()
	request := parse[RunAgentRequest](t, `{"prompt":"p","title":"t","conversation_id":"c","parent_run_id":"r","interactive":true,"team":false,
		"metadata":{"a":"b"},"attachments":[{"file_name":"f","mime_type":"text/plain","data":"aGk="}],"config":{"name":"n"}}`)
	got, err := request.domain(lineshaft.SourceCLI)
	if err != nil {
		t.Fatal(err)
	}
	want := lineshaft.NewRun{
		Prompt: "p", Title: "t", ConversationID: "c", ParentRunID: "r", Interactive: true, Source: lineshaft.SourceCLI,
		Metadata: map[string]string{"a": "b"}, Config: lineshaft.AgentConfig{Name: "n"},
		Attachments: []lineshaft.NewAttachment{{FileName: "f", MimeType: "text/plain", Data: []byte("hi")}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestR2PromptOrConversation(t *testing.T) {
	t.Parallel()
	for body, ok := range map[string]bool{
		`{"prompt":"p"}`: true, `{"conversation_id":"c"}`: false, `{}`: false, `{"title":"t"}`: false, `{"prompt":""}`: false,
	} {
		request := parse[RunAgentRequest](t, body)
		if _, err := request.domain(lineshaft.SourceAPI); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestR2AttachmentsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	half := AttachmentInput{FileName: "a", MimeType: "a/b", Data: base64.StdEncoding.EncodeToString(make([]byte, lineshaft.MaxAttachmentBytes/2))}
	other := half
	other.FileName = "b"
	request := RunAgentRequest{Prompt: "p", Attachments: []AttachmentInput{half, other, {FileName: "c", MimeType: "a/b", Data: "eA=="}}}
	_, err := request.domain(lineshaft.SourceAPI)
	var pub *lineshaft.Error
	if !errors.As(err, &pub) || pub.Field != "attachments" {
		t.Errorf("10 MiB and a byte: %v", err)
	}
}

func TestR2SkillWinsOverItsSpec(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"skill":"o/r:a","config":{"skill_spec":"o/r:b"}}`:                      {"o/r:a"},
		`{"skill":"o/r:a","config":{"skills":["o/r:b","o/r:c"]}}`:                {"o/r:a"},
		`{"config":{"skill_spec":"o/r:b"}}`:                                      {"o/r:b"},
		`{"config":{"skills":["o/r:b","o/r:c"]}}`:                                {"o/r:b", "o/r:c"},
		`{"config":{"skill_spec":"o/r:b","skills":["o/r:b","r:.x/y/SKILL.md"]}}`: {"o/r:b", "r:.x/y/SKILL.md"}, // as an answer has it
	} {
		request := parse[RunAgentRequest](t, body)
		if run, err := request.domain(lineshaft.SourceAPI); err != nil || !slices.Equal(run.Config.Skills, want) {
			t.Errorf("%s: %v, %v", body, run.Config.Skills, err)
		}
	}
	for body, field := range map[string]string{
		`{"skill":"o/r:"}`:                                     "skill",
		`{"config":{"skill_spec":"o/r"}}`:                      "config.skills[0]",
		`{"config":{"skill_spec":"o/r:a","skills":["o/r:b"]}}`: "config.skill_spec",
		`{"config":{"skills":["o/r:b","o/r:b"]}}`:              "config.skills[1]",
	} {
		request := parse[RunAgentRequest](t, body)
		_, err := request.domain(lineshaft.SourceAPI)
		var pub *lineshaft.Error
		if !errors.As(err, &pub) || pub.Field != field || pub.Code != lineshaft.CodeInvalidRequest {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestR6FollowupRequest(t *testing.T) {
	t.Parallel()
	request := parse[RunFollowupRequest](t, `{"message":"m","attachments":[{"file_name":"f","mime_type":"a/b","data":"eA=="}]}`)
	got, err := request.domain("r1")
	if err != nil || got.RunID != "r1" || got.Message != "m" || string(got.Attachments[0].Data) != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	for body, field := range map[string]string{
		`{}`: "message", `{"message":""}`: "message", `{"message":"` + strings.Repeat("x", 1<<20+1) + `"}`: "message",
		`{"attachments":[{}]}`: "attachments[0].file_name", `{"attachments":[{"file_name":"f","mime_type":"a/b","data":"?"}]}`: "attachments[0].data",
	} {
		request := parse[RunFollowupRequest](t, body)
		_, err := request.domain("r1")
		var pub *lineshaft.Error
		if !errors.As(err, &pub) || pub.Field != field {
			t.Errorf("%.60s: %v", body, err)
		}
	}
}

func TestH3TypeErrorsSpeakJSON(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"prompt":5}`: "prompt: expected string, not number",
		`{"config":{"idle_timeout_minutes":1e2}}`:   "config.idle_timeout_minutes: expected integer, not number 1e2",
		`{"config":{"budget":{"max_tokens":1e30}}}`: "config.budget.max_tokens: expected integer, not number 1e30",
		`{"attachments":[{"data":[]}]}`:             "attachments.data: expected string, not array",
		`{"team":"yes"}`:                            "team: expected boolean, not string",
		`{"metadata":[]}`:                           "metadata: expected object, not array",
		`{"config":{"harness":{"command":"x"}}}`:    "config.harness.command: expected array, not string",
		`{"config":{"budget":{"max_cost_usd":{}}}}`: "config.budget.max_cost_usd: expected number, not object",
		`[]`: "expected object, not array",
	} {
		var request RunAgentRequest
		if err := unmarshal([]byte(body), &request); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	var untyped any
	if err := unmarshal([]byte(`{"a":1e400}`), &untyped); err != nil {
		t.Errorf("a number that no float holds, where nobody looks at it: %v", err)
	}
}

// A skill that wins over those of the configuration does not excuse them.
func TestR2SkillsBesideASkillAreChecked(t *testing.T) {
	t.Parallel()
	for body, ok := range map[string]bool{
		`{"skill":"a/b:c","config":{"skills":["a/b:d","a/b:e"]}}`: true,
		`{"skill":"a/b:c","config":{"skills":["a/b:d","a/b:d"]}}`: false,
		`{"skill":"a/b:c","config":{"skills":["/"]}}`:             false,
	} {
		request := parse[RunAgentRequest](t, body)
		run, err := request.domain(lineshaft.SourceAPI)
		if (err == nil) != ok || ok && !slices.Equal(run.Config.Skills, []string{"a/b:c"}) {
			t.Errorf("%s: %v %v", body, run.Config.Skills, err)
		}
	}
}
