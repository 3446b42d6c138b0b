package app_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
)

// Agents of the server's own worker reach it whatever its public name is, with TLS and
// without, with a network and without.
func TestX12AgentsReachTheServerWithoutItsPublicName(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "https"} {
		for _, egress := range []string{"none", "full"} {
			t.Run(scheme+" "+egress, func(t *testing.T) {
				t.Parallel()
				f := besiege(t, func(c *config.Config, _ *app.Options) {
					c.Egress, c.BaseURL = egress, scheme+"://lineshaft.invalid"
					if scheme == "https" {
						*c = certified(t, *c)
					}
				})
				const ask = `curl -s -o /dev/null -w '%{http_code} ' -H "Authorization: Bearer $LINESHAFT_RUN_TOKEN" "$LINESHAFT_API_URL/api/v1/agent/runs`
				started, err := f.app.Control().StartRun(t.Context(), f.admin, lineshaft.NewRun{
					Prompt: "```sh\n" + ask + "/$LINESHAFT_RUN_ID\"\n" + ask + "\" -d '{\"prompt\":\"a child\"}'\n```", Source: lineshaft.SourceAPI,
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if out := f.follow(started.RunID, ""); out != "200 200 " {
					t.Errorf("the agent got %q", out)
				}
			})
		}
	}
}
