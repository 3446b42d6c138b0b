package client

import (
	"context"
	"encoding/json"
	"testing"
)

func TestAgentCalls(t *testing.T) {
	t.Parallel()
	text, agent := example[Agent](t, "agent_response")
	listText, list := example[struct{ Agents []Agent }](t, "list_agent_identities_response")
	_, request := example[AgentRequest](t, "create_agent_request")
	if agent.Name != "reviewer" || agent.AgentType != "REVIEW" || agent.FactoryUID == "" || agent.BaseModel != "sonnet" || agent.Secrets[0].Name != "FORGE_TOKEN" ||
		agent.Skills[0] != "acme/skills:review" || agent.CreatedAt.IsZero() || len(list.Agents) != 1 {
		t.Fatalf("%+v %+v", agent, list)
	}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []callCase{
		{
			"create", 201, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Agents.Create(ctx, *request) },
			seen{method: "POST", path: "/api/v1/agent/identities", body: string(body)},
			agent,
		},
		{
			"get", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Agents.Get(ctx, "a/b") },
			seen{method: "GET", path: "/api/v1/agent/identities/a%2Fb"},
			agent,
		},
		{
			"list", 200, listText,
			func(ctx context.Context, c *Client) (any, error) { return c.Agents.List(ctx, "") },
			seen{method: "GET", path: "/api/v1/agent/identities"},
			list.Agents,
		},
		{
			"list of a factory", 200, listText,
			func(ctx context.Context, c *Client) (any, error) { return c.Agents.List(ctx, "f g") },
			seen{method: "GET", path: "/api/v1/agent/identities", query: "factory_uid=f+g"},
			list.Agents,
		},
		{
			"update", 200, text,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Agents.Update(ctx, "a", AgentUpdate{Prompt: new(""), Harness: &Harness{}, Secrets: &[]SecretRef{}, Skills: &[]string{"s"}})
			},
			seen{method: "PUT", path: "/api/v1/agent/identities/a", body: `{"prompt":"","harness":{},"secrets":[],"skills":["s"]}`},
			agent,
		},
		{
			"delete", 204, ``,
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Agents.Delete(ctx, "a") },
			seen{method: "DELETE", path: "/api/v1/agent/identities/a"},
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

func TestFactoryRunCall(t *testing.T) {
	t.Parallel()
	text, done := example[FactoryRun](t, "factory_run_response")
	_, request := example[FactoryRunRequest](t, "factory_run_request")
	if done.ForemanAgent != "foreman" || done.TicketRef != "linear:SHOP-42" || done.RunURL == "" || request.TicketURL == "" {
		t.Fatalf("%+v %+v", done, request)
	}
	// A lost answer is asked for again, under the same key: the work is done once.
	c, s := scripted(t, hangUp, answer(200, text))
	got, err := c.Factories.Run(t.Context(), "f", *request)
	if err != nil || *got != *done {
		t.Fatalf("%+v, %v", got, err)
	}
	sent := s.requests()
	key := sent[0].header.Get("Idempotency-Key")
	if len(sent) != 2 || sent[0].path != "/api/v1/factory/f/runs" || key == "" || key != sent[1].header.Get("Idempotency-Key") {
		t.Errorf("%+v", sent)
	}
}

func TestAgentsThatCannotBeAddressed(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{}`))
	for _, id := range []string{"", ".", ".."} {
		_, getErr := c.Agents.Get(t.Context(), id)
		_, updateErr := c.Agents.Update(t.Context(), id, AgentUpdate{})
		_, runErr := c.Factories.Run(t.Context(), id, FactoryRunRequest{})
		for i, err := range []error{getErr, updateErr, runErr, c.Agents.Delete(t.Context(), id)} {
			if err == nil {
				t.Errorf("call %d with %q was made", i, id)
			}
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
