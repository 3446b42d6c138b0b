package client

import (
	"context"
	"reflect"
	"testing"
)

// folderBody is what a folder of one file looks like on the wire.
const folderBody = `{"files":{"factory.yaml":"name: x\n"}}`

func oneFile() map[string]string { return map[string]string{"factory.yaml": "name: x\n"} }

func TestDefinitionCalls(t *testing.T) {
	t.Parallel()
	planText, plan := example[DefinitionPlan](t, "plan_definition_response")
	validText, valid := example[DefinitionValidation](t, "validate_definition_response")
	appliedText, applied := example[DefinitionApplied](t, "apply_definition_response")
	exportText, export := example[Definition](t, "factory_definition")
	if len(plan.Backtests) != 1 || plan.Backtests[0].Stops != 214 || plan.Backtests[0].Deliveries != 812 || len(plan.Changes[0].Fields) != 1 || len(valid.Problems) != 1 || valid.Valid ||
		applied.Revision != 7 || !applied.Changed || len(export.Files) != 4 {
		t.Fatalf("%+v %+v %+v %+v", plan, valid, applied, export)
	}
	for _, tc := range []callCase{
		{
			"validate", 200, validText,
			func(ctx context.Context, c *Client) (any, error) { return c.Definitions.Validate(ctx, "f", oneFile()) },
			seen{method: "POST", path: "/api/v1/factory/f/definition/validate", body: folderBody},
			valid,
		},
		{
			"validate files", 200, validText,
			func(ctx context.Context, c *Client) (any, error) { return c.Definitions.ValidateFiles(ctx, oneFile()) },
			seen{method: "POST", path: "/api/v1/factory-files/validate", body: folderBody},
			valid,
		},
		{
			"plan", 200, planText,
			func(ctx context.Context, c *Client) (any, error) { return c.Definitions.Plan(ctx, "f", oneFile()) },
			seen{method: "POST", path: "/api/v1/factory/f/definition/plan", body: folderBody},
			plan,
		},
		{
			"plan files", 200, planText,
			func(ctx context.Context, c *Client) (any, error) { return c.Definitions.PlanFiles(ctx, oneFile()) },
			seen{method: "POST", path: "/api/v1/factory-files/plan", body: folderBody},
			plan,
		},
		{
			"drift", 200, planText,
			func(ctx context.Context, c *Client) (any, error) { return c.Definitions.Drift(ctx, "f", oneFile()) },
			seen{method: "POST", path: "/api/v1/factory/f/definition/plan", query: "drift=true", body: folderBody},
			plan,
		},
		{
			"apply", 200, appliedText,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Definitions.Apply(ctx, "f", DefinitionRequest{Files: oneFile(), Comment: "why", IfRevision: 6})
			},
			seen{method: "POST", path: "/api/v1/factory/f/definition/apply", body: `{"files":{"factory.yaml":"name: x\n"},"comment":"why","if_revision":6}`},
			applied,
		},
		{
			"export", 200, exportText,
			func(ctx context.Context, c *Client) (any, error) { return c.Definitions.Export(ctx, "f") },
			seen{method: "GET", path: "/api/v1/factory/f/definition"},
			export,
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

func TestRevisionCalls(t *testing.T) {
	t.Parallel()
	listText, list := example[RevisionPage](t, "list_revisions_response")
	oneText, one := example[DefinitionRevision](t, "revision")
	appliedText, applied := example[DefinitionApplied](t, "apply_definition_response")
	if len(list.Revisions) != 1 || list.Revisions[0].Actor.DisplayName != "Ada" || list.Revisions[0].Files != nil || len(one.Files) != 4 || one.Number != 7 {
		t.Fatalf("%+v %+v", list, one)
	}
	for _, tc := range []callCase{
		{
			"revisions", 200, listText,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Definitions.Revisions(ctx, "a/b", RevisionQuery{Limit: 3, Cursor: "c"})
			},
			seen{method: "GET", path: "/api/v1/factory/a%2Fb/definition/revisions", query: "cursor=c&limit=3"},
			list,
		},
		{
			"revision", 200, oneText,
			func(ctx context.Context, c *Client) (any, error) { return c.Definitions.Revision(ctx, "f", 7) },
			seen{method: "GET", path: "/api/v1/factory/f/definition/revisions/7"},
			one,
		},
		{
			"rollback", 200, appliedText,
			func(ctx context.Context, c *Client) (any, error) { return c.Definitions.Rollback(ctx, "f", 6) },
			seen{method: "POST", path: "/api/v1/factory/f/definition/revisions/6/rollback"},
			applied,
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

func TestRevisionsPageByPage(t *testing.T) {
	t.Parallel()
	c, s := scripted(t,
		answer(200, `{"revisions":[{"number":9},{"number":7}],"page_info":{"has_next_page":true,"next_cursor":"x"}}`),
		answer(200, `{"revisions":[{"number":1}],"page_info":{"has_next_page":false}}`),
		answer(404, `{"code":"resource_not_found"}`))
	var got []int64
	for r, err := range c.Definitions.AllRevisions(t.Context(), "f", RevisionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Number)
	}
	if !reflect.DeepEqual(got, []int64{9, 7, 1}) || s.requests()[1].query != "cursor=x" {
		t.Errorf("%v, %+v", got, s.requests())
	}
	for _, err := range c.Definitions.AllRevisions(t.Context(), "f", RevisionQuery{}) {
		if !IsNotFound(err) {
			t.Errorf("%v", err)
		}
	}
}

// The mistakes of a definition come with the error.
func TestF3ProblemsOfADefinition(t *testing.T) {
	t.Parallel()
	c, _ := scripted(t, answer(400, `{"code":"invalid_request","title":"Invalid request","detail":"2 mistakes","problems":[`+
		`{"file":"a.yaml","line":3,"column":5,"message":"bad","hint":"fix it"},{"file":"b","line":0,"column":0,"message":"gone"}]}`))
	_, err := c.Definitions.Apply(t.Context(), "f", DefinitionRequest{Files: oneFile()})
	got, ok := asError(err)
	if !ok || len(got.Problems) != 2 || !IsInvalid(err) {
		t.Fatalf("%+v", err)
	}
	for i, want := range []string{"a.yaml:3:5: bad (fix it)", "b: gone"} {
		if text := got.Problems[i].String(); text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
}

// What cannot be addressed is not sent; an apply whose answer is lost is not sent again.
func TestDefinitionCallsAreCareful(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, hangUp, answer(200, `{}`))
	for i, call := range []func(uid string) error{
		func(uid string) error { _, err := c.Definitions.Validate(t.Context(), uid, nil); return err },
		func(uid string) error { _, err := c.Definitions.Plan(t.Context(), uid, nil); return err },
		func(uid string) error {
			_, err := c.Definitions.Apply(t.Context(), uid, DefinitionRequest{})
			return err
		},
		func(uid string) error { _, err := c.Definitions.Export(t.Context(), uid); return err },
		func(uid string) error {
			_, err := c.Definitions.Revisions(t.Context(), uid, RevisionQuery{})
			return err
		},
		func(uid string) error { _, err := c.Definitions.Revision(t.Context(), uid, 1); return err },
		func(uid string) error { _, err := c.Definitions.Rollback(t.Context(), uid, 1); return err },
	} {
		if call("") == nil {
			t.Errorf("call %d without a factory was made", i)
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Fatalf("%d requests", n)
	}
	if _, err := c.Definitions.Apply(t.Context(), "f", DefinitionRequest{}); err == nil || len(s.requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(s.requests()))
	}
}
