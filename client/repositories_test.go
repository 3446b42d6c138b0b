package client

import (
	"context"
	"testing"
)

func TestRepositoryCalls(t *testing.T) {
	t.Parallel()
	text, following := example[Factory](t, "repository_factory")
	r := following.Repository
	if following.Mode != "repository" || r == nil || r.URL == "" || r.Branch != "main" || r.Path != "shop" || r.SeenCommit == r.AppliedCommit ||
		r.CheckedAt == nil || r.AppliedAt == nil || r.Fault != "" || len(r.Problems) != 1 || r.Problems[0].Line != 4 || r.Problems[0].Hint == "" {
		t.Fatalf("%+v %+v", following, r)
	}
	if _, managed := example[Factory](t, "factory"); managed.Repository != nil {
		t.Errorf("a managed factory follows %+v", managed.Repository)
	}
	for _, tc := range []callCase{
		{
			"create", 201, text,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Factories.Create(ctx, FactoryRequest{Name: "n", Repository: &RepositorySource{URL: "https://h/r", Branch: "b", Path: "p"}})
			},
			seen{method: "POST", path: "/api/v1/factory", body: `{"name":"n","repository":{"url":"https://h/r","branch":"b","path":"p"}}`},
			following,
		},
		{
			"link", 200, text,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Factories.Link(ctx, "a/b", RepositorySource{URL: "https://h/r"})
			},
			seen{method: "PATCH", path: "/api/v1/factory/a%2Fb", body: `{"repository":{"url":"https://h/r"}}`},
			following,
		},
		{
			"unlink", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Factories.Unlink(ctx, "f1") },
			seen{method: "PATCH", path: "/api/v1/factory/f1", body: `{"repository":null}`},
			following,
		},
		{
			"sync", 200, text,
			func(ctx context.Context, c *Client) (any, error) { return c.Factories.Sync(ctx, "f1") },
			seen{method: "POST", path: "/api/v1/factory/f1/repository/sync"},
			following,
		},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
	c, _ := scripted(t, answer(200, `{}`))
	if _, err := c.Factories.Sync(t.Context(), ""); err == nil {
		t.Error("sync of no factory")
	}
	if _, err := c.Factories.Unlink(t.Context(), ""); err == nil {
		t.Error("unlink of no factory")
	}
}
