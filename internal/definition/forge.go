package definition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

const (
	oneForge      = "repositories are cloned from the forge that the server was started with"
	noFederation  = "agents get no identity at a cloud provider; give them a secret"
	noIntegration = "it is connected to no such tool; let the tool send to a webhook"
	noStrategy    = "runs get the secrets that the definition names, no matter who starts them"
)

func codeForges() []string { return []string{"GITHUB", "GITLAB"} }

func credentialStrategy() key {
	return key{
		name: "credentialStrategy", doc: "Whose credentials runs use: EXECUTOR or CREATOR.", null: sameAsAbsent, inert: noStrategy, kept: true,
		value: unread(textRules{words: []string{"EXECUTOR", "CREATOR"}}),
	}
}

// foreignKeys are keys of factory.yaml for what other servers have.
func foreignKeys() []key {
	var forges []string
	return []key{
		credentialStrategy(),
		{name: "codeForges", doc: "Code hosts of the factory: GITHUB, GITLAB.", inert: oneForge, kept: true, value: texts(&forges, len(codeForges()), textRules{words: codeForges(), once: true})},
		{name: "cloudProviders", doc: "Identities that runs get at cloud providers.", inert: noFederation, kept: true, value: block(&cloudProviders{}, cloudKeys)},
		{name: "providers", doc: "The old name of cloudProviders, which counts when both are there.", inert: noFederation, kept: true, value: block(&cloudProviders{}, cloudKeys)},
		{name: "integrations", doc: "Connected tools.", inert: noIntegration, kept: true, value: integrations()},
	}
}

type cloudProviders struct {
	gcp struct{ project, pool, provider, account string }
	aws struct{ role string }
}

func cloudKeys(c *cloudProviders) []key {
	filled := textRules{filled: true}
	gcp := func(*cloudProviders) []key {
		return []key{
			{name: "projectNumber", doc: "the number of the project, in quotes", required: true, value: text(&c.gcp.project, filled)},
			{name: "workloadIdentityFederationPoolId", doc: "the pool", required: true, value: text(&c.gcp.pool, filled)},
			{name: "workloadIdentityFederationProviderId", doc: "the provider in the pool", required: true, value: text(&c.gcp.provider, filled)},
			{name: "serviceAccountEmail", doc: "The account that runs act as.", value: text(&c.gcp.account, filled)},
		}
	}
	aws := func(*cloudProviders) []key {
		return []key{{name: "roleArn", doc: "the role that runs take on", required: true, value: text(&c.aws.role, filled)}}
	}
	return []key{
		{name: "gcp", doc: "Google Cloud.", value: block(c, gcp)},
		{name: "aws", doc: "Amazon Web Services.", value: block(c, aws)},
	}
}

// checkForges holds the repositories against the code hosts that are named.
func (r *reader) checkForges(n *node) {
	forges, list := n.get("codeForges"), n.get("repositories")
	if forges == nil || forges.kind != listNode || list == nil || list.kind != listNode {
		return
	}
	if len(forges.items) == 0 && len(list.items) > 0 {
		r.wrong(forges, "codeForges", "is empty, and there are repositories", "name the host of the repositories, or write repositories: []")
	}
	if len(forges.items) < 2 {
		return
	}
	for i, item := range list.items {
		if item.kind == objectNode && item.get("codeForge") == nil {
			r.wrong(item, indexed("repositories", i), "does not say which host it is at, and codeForges names two", "add codeForge: "+strings.Join(codeForges(), " or "))
		}
	}
}

// integration is a tool that other servers connect to.
type integration struct {
	kind     string
	teams    []string
	projects []string
	replies  bool
}

const teamsIntegration = "microsoft-teams"

func integrationTypes() []string { return []string{"slack", "linear", "jira", teamsIntegration} }

func integrations() value {
	var list []integration
	seen := map[string]bool{}
	return blocks(&list, 20, integrationKeys, func(r *reader, path string, n *node, v *integration) {
		if v.kind == "" {
			return
		}
		if seen[v.kind] {
			r.wrong(n, path, v.kind+" appears twice", "keep one of the two")
		}
		seen[v.kind] = true
		for _, scope := range []string{"linear", "jira", teamsIntegration} {
			if f := n.get(scope); f != nil && scope != v.kind {
				r.wrong(f, joinPath(path, scope), "is only for type "+scope, "take it out")
			}
		}
	})
}

func integrationKeys(v *integration) []key {
	ids := textRules{filled: true, once: true}
	linear := func(*integration) []key {
		return []key{{name: "teamIds", doc: "Teams of Linear; all of them when left out.", value: texts(&v.teams, 0, ids)}}
	}
	jira := func(*integration) []key {
		return []key{{name: "projectKeys", doc: "Projects of Jira; all of them when left out.", value: texts(&v.projects, 0, ids)}}
	}
	teams := func(*integration) []key {
		return []key{{name: "autoRespondToThreadReplies", doc: "Whether plain replies in a thread continue the work; true by default.", value: toggle(&v.replies, true)}}
	}
	return []key{
		{name: "type", doc: strings.Join(integrationTypes(), ", "), required: true, value: integrationType(&v.kind)},
		{name: "linear", doc: "With type linear.", value: block(v, linear)},
		{name: "jira", doc: "With type jira.", value: block(v, jira)},
		{name: teamsIntegration, doc: "With type " + teamsIntegration + ".", value: block(v, teams)},
	}
}

// integrationType is a word in any case.
func integrationType(to *string) value {
	return value{
		read: func(r *reader, path string, n *node) {
			word, ok := r.readText(path, n, textRules{filled: true})
			if !ok {
				return
			}
			folded := *n
			if folded.text = strings.ToLower(strings.TrimSpace(word)); folded.text == "github" {
				r.wrong(n, path, "github is not named here", "repositories and triggers of GitHub need no integration; take it out")
				return
			}
			if word, ok := r.readText(path, &folded, textRules{words: integrationTypes()}); ok {
				*to = word
			}
		},
		write:  func() *node { return nil },
		schema: textRules{filled: true}.schema,
	}
}

// checkTrackers refuses two issue trackers. The published format does so when a
// definition is applied, not when it is checked.
func (p *parsing) checkTrackers() {
	found := map[string]bool{}
	list := p.kept[string(KindFactory)]["integrations"]
	if list == nil {
		return
	}
	for i, item := range list.items {
		kind := strings.ToLower(strings.TrimSpace(item.get("type").text))
		if kind != "linear" && kind != "jira" {
			continue
		}
		if found[kind] = true; len(found) == 2 {
			p.add(lineshaft.FileProblem{
				File: factoryFile, Line: item.line, Column: item.column, Message: indexed("integrations", i) + ": a factory has one issue tracker, and linear and jira are both here", Hint: "keep one of the two",
			})
			p.deferLast()
		}
	}
}

// keepForge keeps the host of a repository, which is known by its owner and name.
func (r *reader) keepForge(path string, n *node, v lineshaft.Repository) {
	forge := n.get("codeForge")
	if forge == nil || !slices.Contains(codeForges(), forge.text) {
		return
	}
	r.keep(fmt.Sprintf("repositories[%s].codeForge", v), forge)
	r.noEffect("codeForge", forge.line, forge.column, path+".codeForge", oneForge)
}

// checkFired says whether a trigger is in the catalogue. The field of its error is
// within the trigger.
func checkFired(t lineshaft.Trigger) error {
	if err := t.Validate(""); err != nil {
		return err
	}
	return catalog.Check(t)
}

func fieldOf(err error) string {
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok {
		return pub.Field
	}
	return ""
}
