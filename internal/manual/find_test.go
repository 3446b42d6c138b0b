package manual

import (
	"slices"
	"strings"
	"testing"
)

// questions are what users would ask, with the pages that answer; one of them has to be
// among the first three.
var questions = map[string]string{
	"how do I start a run from a webhook":                 "guides/first-webhook.md",
	"github issue to pull request":                        "guides/github.md",
	"gitlab merge request review":                         "guides/gitlab.md triggers.md",
	"answer in slack":                                     "guides/slack.md",
	"linear issue label":                                  "guides/linear.md triggers.md",
	"sentry alert":                                        "guides/sentry-pagerduty.md",
	"pagerduty incident":                                  "guides/sentry-pagerduty.md",
	"stripe signing secret":                               "guides/stripe.md",
	"run agents on my mac":                                "guides/agents-on-a-worker.md workers.md",
	"migrate from oz hosted service":                      "guides/moving-from-oz.md",
	"start a run from CI":                                 "ci.md",
	"MCP server in my editor":                             "mcp.md",
	"claude code harness":                                 "agents.md",
	"set up a model API key":                              "models.md guides/first-agent.md",
	"budget in dollars":                                   "models.md factories.md",
	"rotate the master key":                               "secrets.md",
	"how are secrets masked":                              "secrets.md",
	"what can a hostile payload do":                       "concepts/security-model.md security.md",
	"is bubblewrap required":                              "isolation.md operate/troubleshooting.md",
	"egress allow list":                                   "isolation.md",
	"behind nginx":                                        "deploy/proxy.md",
	"caddy reverse proxy buffering":                       "deploy/proxy.md",
	"docker compose":                                      "deploy/docker.md",
	"systemd unit":                                        "deploy/systemd.md",
	"helm chart values":                                   "deploy/helm.md",
	"move from sqlite to postgresql":                      "deploy/postgresql.md",
	"HTTPS certificate from let's encrypt ACME":           "tls.md",
	"single sign-on with OpenID Connect":                  "oidc.md",
	"restore a backup":                                    "operate/backup.md operation.md",
	"upgrade to a new version":                            "operate/upgrade.md",
	"prometheus alerts":                                   "operate/monitoring.md",
	"webhook answers 401":                                 "operate/troubleshooting.md webhooks.md",
	"run stays queued":                                    "operate/troubleshooting.md",
	"shell harness found nothing to run":                  "operate/troubleshooting.md",
	"how many cores and memory does it need":              "operate/sizing.md",
	"cron expression daylight saving":                     "schedules.md",
	"verify the signature of a callback":                  "callbacks.md clients.md",
	"filter payload operators":                            "factories.md",
	"definition yaml keys of an agent":                    "definition-files.md",
	"python client":                                       "clients.md",
	"what does the error code resource_not_found mean":    "reference/errors.md",
	"which metrics are there":                             "reference/metrics.md operate/monitoring.md",
	"list of API operations":                              "reference/operations.md",
	"what is a foreman":                                   "identities.md glossary.md",
	"follow a git repository":                             "repositories.md",
	"opentelemetry traces":                                "tracing.md",
	"skills SKILL.md":                                     "skills.md",
	"how do I back up the database":                       "operate/backup.md",
	"why did my delivery not start a run":                 "operate/troubleshooting.md webhooks.md",
	"lineshaft runs delete":                               "reference/commands.md",
	"port in use":                                         "operate/troubleshooting.md",
	"address already in use":                              "operate/troubleshooting.md",
	"webook answers 401":                                  "operate/troubleshooting.md webhooks.md",
	"webook":                                              "webhooks.md guides/first-webhook.md",
	"kuberntes":                                           "kubernetes.md deploy/helm.md",
	"rotate the mastre key":                               "secrets.md",
	"postgressql":                                         "deploy/postgresql.md",
	"install":                                             "install.md",
	"debian package":                                      "install.md",
	"verify the checksum of a download":                   "install.md",
	"uninstall":                                           "install.md",
	"shell completion":                                    "install.md cli.md",
	"man page":                                            "install.md cli.md",
	"authentication required":                             "operate/troubleshooting.md models.md",
	"why does a run have this value in its configuration": "identities.md concepts/overview.md",
}

// TestI7SearchAnswersQuestions holds the search to the table.
func TestI7SearchAnswersQuestions(t *testing.T) {
	t.Parallel()
	m := load(t)
	if len(questions) < 40 {
		t.Errorf("only %d questions", len(questions))
	}
	for question, pages := range questions {
		var got []string
		hits := m.Find(question)
		for _, hit := range hits[:min(3, len(hits))] {
			got = append(got, hit.Page.Name)
		}
		if !slices.ContainsFunc(got, func(name string) bool { return slices.Contains(strings.Fields(pages), name) }) {
			t.Errorf("%q finds %v, want one of %s", question, got, pages)
		}
	}
}

func TestI7SearchShowsPassages(t *testing.T) {
	t.Parallel()
	hit := load(t).Find("bubblewrap")[0]
	if !strings.Contains(strings.ToLower(hit.In), "bubblewrap") || hit.Next == "" {
		t.Errorf("%+v", hit)
	}
	if hits := load(t).Find("zzzzzz"); len(hits) != 0 {
		t.Errorf("%d hits for nothing", len(hits))
	}
	if hits := load(t).Find(""); len(hits) != 0 {
		t.Errorf("%d hits for no question", len(hits))
	}
}

// A question that has all words of a heading finds that section, though "run" counts for nothing.
func TestI7SearchFindsCommands(t *testing.T) {
	t.Parallel()
	m := load(t)
	for question, want := range map[string]string{"lineshaft runs delete": "lineshaft runs delete", "delete a run": "lineshaft runs delete"} {
		if !slices.ContainsFunc(m.Find(question), func(hit Hit) bool { return hit.Section == want }) {
			t.Errorf("%q does not find %q", question, want)
		}
	}
}
