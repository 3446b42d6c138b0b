package api

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// documented is what the document says about a type.
func documented(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := build(Deps{Control: &control.Service{}}).openAPIJSON()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("openapi.json#/components/schemas/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func fits(t *testing.T, schema *jsonschema.Schema, text string) bool {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value) == nil
}

// The document allows every event of the table, and no other.
func TestF6TheDocumentHasEveryEvent(t *testing.T) {
	t.Parallel()
	schema := documented(t, "Trigger")
	more := map[string]string{
		"webhook": `,"filter":{"webhooks":["a"]}`, "schedule": `,"schedule":"@daily"`,
		"teams": `,"filter":{"team_ids":["a"],"channel_ids":["b"]}`,
	}
	for _, provider := range lineshaft.Providers() {
		events, err := factories.TriggerCatalog(provider)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			name := e.Event
			if name == factories.AnyEvent {
				name = "any_event"
			}
			if !fits(t, schema, `{"provider":"`+provider+`","event":"`+name+`"`+more[provider]+`}`) {
				t.Errorf("%s of %s is not allowed", name, provider)
			}
		}
		if fits(t, schema, `{"provider":"`+provider+`","event":"no such event"`+more[provider]+`}`) {
			t.Errorf("%s may have any event", provider)
		}
	}
}

// The server accepts and refuses what the document allows and forbids.
func TestF6TheDocumentAgreesAboutTriggers(t *testing.T) {
	t.Parallel()
	schema, b := documented(t, "Trigger"), newServer(t)
	uid, _ := b.factory("f", "a")
	number := 0
	for trigger, ok := range map[string]bool{
		`{"provider":"webhook","event":"received","filter":{"webhooks":["a"]}}`:                                              true,
		`{"provider":"webhook","event":"received","filter":{"webhooks":[]}}`:                                                 false,
		`{"provider":"webhook","event":"received"}`:                                                                          false,
		`{"provider":"webhook","event":"received","filter":{"webhooks":["a"],"labels":["b"]}}`:                               false,
		`{"provider":"schedule","event":"cron_fired","schedule":{"cron":"@daily"}}`:                                          true,
		`{"provider":"schedule","event":"cron_fired","filter":{"schedule_ids":["a"]}}`:                                       true,
		`{"provider":"schedule","event":"cron_fired"}`:                                                                       false,
		`{"provider":"schedule","event":"cron_fired","schedule":"@daily","filter":{"schedule_ids":["a"]}}`:                   false,
		`{"provider":"run","event":"finished","filter":{"states":["FAILED"]}}`:                                               true,
		`{"provider":"run","event":"finished","filter":{"states":["QUEUED"]}}`:                                               false,
		`{"provider":"run","event":"finished","schedule":"@daily"}`:                                                          false,
		`{"provider":"github","event":"pull_request_opened","filter":{"pr_numbers":[7],"repos":{"in":["a/b"],"not_in":[]}}}`: true,
		`{"provider":"github","event":"pull_request_opened","filter":{"pr_numbers":["7"]}}`:                                  false,
		`{"provider":"github","event":"pull_request_opened","filter":{"repos":["a"]}}`:                                       false,
		`{"provider":"github","event":"pull_request_opened","filter":{"authors":["@a"]}}`:                                    false,
		`{"provider":"github","event":"push","filter":{"paths":[".github/workflows/*","a","docs/**"]}}`:                      true,
		`{"provider":"github","event":"push","filter":{"paths":["./a"]}}`:                                                    false,
		`{"provider":"github","event":"push","filter":{"paths":["a/"]}}`:                                                     false,
		`{"provider":"github","event":"pull_request_review_submitted","filter":{"review_states":["changes requested"]}}`:     true,
		`{"provider":"github","event":"pull_request_review_submitted","filter":{"review_states":["fine"]}}`:                  false,
		`{"provider":"linear","event":"issue_created","filter":{"teams":["ENG"]}}`:                                           true,
		`{"provider":"linear","event":"issue_created","filter":{"teams":{"not_in":["ENG"]}}}`:                                false,
		`{"provider":"teams","event":"app_mention","filter":{"team_ids":["a"],"channel_ids":{"in":["b"]}}}`:                  true,
		`{"provider":"teams","event":"app_mention","filter":{"team_ids":["a","b"],"channel_ids":["b"]}}`:                     false,
		`{"provider":"teams","event":"app_mention","filter":{"team_ids":["a"]}}`:                                             false,
		`{"provider":"azure_devops","event":"work_item_created","filter":{"labels":["a"]}}`:                                  true,
		`{"provider":"sentry","event":"issue"}`:                                                                              false,
	} {
		number++
		status := 400
		if ok {
			status = 201
		}
		name := strings.NewReplacer(`"`, "", "{", "", "}", "").Replace(trigger)
		b.check(t, scenario{
			name: name, method: post, path: "/factory/" + uid + "/automations", as: lineshaft.RoleManager, status: status,
			body: `{"name":"n` + strconv.Itoa(number) + `","prompt":"p","triggers":[` + trigger + `]}`,
		})
		if fits(t, schema, trigger) != ok {
			t.Errorf("the document says otherwise: %s", trigger)
		}
	}
}
