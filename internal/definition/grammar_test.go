package definition

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/frontmatter"
)

// grammar are all keys of the published format but those of trigger filters, by document.
// A key that is added to the format gets a row here, and its use in testdata/published.
func grammar() map[string]string {
	const shared = " harness.type harness.model harness.reasoningLevel harness.auth runner environmentId secrets mcpServers workerHost computerUseModel"
	return map[string]string{
		"factory": "schemaVersion name description alias credentialStrategy codeForges repositories.owner repositories.name repositories.codeForge secrets " +
			"mcpServers.*.warpId mcpServers.*.command mcpServers.*.args mcpServers.*.env mcpServers.*.url mcpServers.*.headers " +
			"cloudProviders.gcp.projectNumber cloudProviders.gcp.workloadIdentityFederationPoolId cloudProviders.gcp.workloadIdentityFederationProviderId " +
			"cloudProviders.gcp.serviceAccountEmail cloudProviders.aws.roleArn providers.aws.roleArn integrations.type integrations.linear.teamIds " +
			"integrations.microsoft-teams.autoRespondToThreadReplies agentDefaults.harness.type agentDefaults.harness.model agentDefaults.harness.reasoningLevel " +
			"agentDefaults.harness.auth.source agentDefaults.harness.auth.secretName agentDefaults.runner agentDefaults.environmentId agentDefaults.secrets " +
			"agentDefaults.mcpServers agentDefaults.workerHost agentDefaults.computerUseModel",
		"agent":      "description agentType credentialStrategy" + shared,
		"automation": "enabled agent triggers.provider triggers.event triggers.filter triggers.schedule.cron triggers.schedule.name model harness.reasoningLevel runner environmentId secrets mcpServers workerHost computerUseModel",
		"runner": "description setupCommands instanceShape.vcpus instanceShape.memoryGb platform.os platform.arch platform.linux.dockerImage " +
			"platform.linux.registryCredentialSecretName platform.mac.version",
		"webhook": "authMode signatureScheme secretName deliveryIdHeader enabled",
		"skill":   "name description",
		"scorer":  "name description agents enabled output labels.value labels.score labels.description passingScore samplingRate model selfImprovement",
		"benchmark_suite": "name description agent configurations.name configurations.role configurations.agents.agent configurations.agents.model " +
			"configurations.agents.harness.type configurations.agents.harness.model configurations.agents.harness.auth.source configurations.agents.harness.auth.secretName tasks",
		"benchmark_suite_task": "title prompt successCriteria sourceRunId startingRepoRefs.codeForge startingRepoRefs.owner startingRepoRefs.repo startingRepoRefs.ref",
	}
}

func publishedFolder(t *testing.T) Files {
	t.Helper()
	files, err := ReadFS(os.DirFS("testdata/published"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var serverName = regexp.MustCompile(`^((?:agentDefaults\.)?mcpServers)\.[^.]+`)

// usedKeys are the paths of all keys that a folder has, by document.
func usedKeys(t *testing.T, files Files) map[string]map[string]bool {
	t.Helper()
	used := map[string]map[string]bool{}
	for file, text := range files {
		doc := documentOf(file)
		if doc == "" {
			continue
		}
		if parts := frontmatter.Split(text); parts.Found {
			text = parts.YAML + "\n"
		}
		n, _, m := parseYAML(text, maxWork)
		if m != nil {
			t.Fatalf("%s: %+v", file, m)
		}
		if used[doc] == nil {
			used[doc] = map[string]bool{}
		}
		if n != nil {
			walkKeys(n, "", func(path string) { used[doc][serverName.ReplaceAllString(path, "$1.*")] = true })
		}
	}
	return used
}

func walkKeys(n *node, path string, visit func(string)) {
	for _, f := range n.fields {
		visit(joinPath(path, f.key))
		walkKeys(f.value, joinPath(path, f.key), visit)
	}
	for _, item := range n.items {
		walkKeys(item, path, visit)
	}
}

// A folder with every published key is sound, says what has no effect once, and comes
// back byte for byte; also with keys of this server beside them.
func TestF2EveryPublishedKey(t *testing.T) {
	t.Parallel()
	files := publishedFolder(t)
	used := usedKeys(t, files)
	for doc, keys := range grammar() {
		for key := range strings.FieldsSeq(keys) {
			if !used[doc][key] {
				t.Errorf("testdata/published uses no %s of %s", key, doc)
			}
		}
	}
	files["agents/helper/agent.md"] = "---\ntimeoutMinutes: 5\nskills: [review]\nbudget: {maxTokens: 5}\n---\nOurs.\n"
	files["runners/text.yml"] = "platform: linux/arm64\nimage: debian:13\n"
	def, problems := Parse(files)
	if len(problems) > 0 {
		t.Fatalf("%+v", problems)
	}
	subjects := map[string]int{}
	for _, n := range def.Notices {
		subject, _, _ := strings.Cut(n.Message[strings.LastIndex(strings.SplitN(n.Message, ":", 2)[0], ".")+1:], " ")
		subjects[strings.TrimSuffix(subject, ":")]++
	}
	want := map[string]int{
		"credentialStrategy": 1, "codeForges": 1, "codeForge": 1, "cloudProviders": 1, "providers": 1, "integrations": 1, "computerUseModel": 1, "warpId": 1,
		"scorers": 1, "benchmarks": 1, "name": 1,
	}
	if !maps.Equal(subjects, want) {
		t.Errorf("notices are about %v: %+v", subjects, def.Notices)
	}
	if again := Render(def, files); !maps.Equal(again, files) {
		t.Errorf("rendered as\n%s", printed(again))
	}
	schemas := compiled(t)
	for name, text := range files {
		if documentOf(name) == "" {
			continue
		}
		if err := complaint(t, schemas, name, text); err != nil {
			t.Errorf("the schema of %s: %v", name, err)
		}
	}
}

// What has no effect is not lost when the rest of its file is edited over the API, which
// knows nothing of it.
func TestF5KeysWithoutEffectSurviveEdits(t *testing.T) {
	t.Parallel()
	files := publishedFolder(t)
	def, _ := Parse(files)
	stored := *def
	stored.kept, stored.Notices = nil, nil // as the store gives it
	stored.Factory.Description = "Edited."
	stored.Factory.Repositories = slices.Clone(def.Factory.Repositories[1:])
	stored.Agents = slices.Clone(def.Agents)
	stored.Agents[0].Description = "Edited, too."
	out := Keep(files).Render(&stored)
	back, problems := Parse(out)
	if len(problems) > 0 {
		t.Fatalf("%+v in\n%s", problems, out[factoryFile])
	}
	for path, n := range def.kept[string(KindFactory)] {
		if path == "repositories[acme/api].codeForge" {
			continue // with its repository
		}
		if got := back.kept[string(KindFactory)][path]; got == nil || got.json() != n.json() {
			t.Errorf("%s is lost in\n%s", path, out[factoryFile])
		}
	}
	if !strings.Contains(out["agents/boss/agent.md"], "credentialStrategy: EXECUTOR") || !strings.Contains(out["agents/boss/agent.md"], "Edited, too.") {
		t.Error(out["agents/boss/agent.md"])
	}
	// A plan shows that such a key changes, and only that.
	files[factoryFile] = strings.Replace(files[factoryFile], "CREATOR", "EXECUTOR", 1)
	next, _ := Parse(files)
	if changes := Compare(def, next); len(changes) != 1 || len(changes[0].Fields) != 1 || changes[0].Fields[0] != (FieldChange{"credentialStrategy", "CREATOR", "EXECUTOR"}) {
		t.Errorf("%+v", changes)
	}
}

// Bad input that the published format refuses, each with its code.
func TestF3PublishedMistakes(t *testing.T) {
	t.Parallel()
	scorer := func(text string) string {
		return frontmatter.Join("agents: [boss]\nlabels: [{value: a, score: 1}, {value: b, score: 0}]\npassingScore: 0.5\nmodel: m\n"+text, "Rubric.")
	}
	for name, c := range map[string]struct{ file, text, code, message string }{
		"unknown tool":       {factoryFile, "integrations: [{type: notion}]", CodeInvalidValue, `integrations[0].type: "notion" is none`},
		"github as a tool":   {factoryFile, "integrations: [{type: GitHub}]", CodeInvalidValue, "github is not named here"},
		"tool twice":         {factoryFile, "integrations: [{type: slack}, {type: Slack}]", CodeInvalidValue, "slack is there twice"},
		"scope of another":   {factoryFile, "integrations: [{type: slack, linear: {}}]", CodeInvalidValue, "goes with type linear only"},
		"two trackers":       {factoryFile, "integrations: [{type: jira, jira: {projectKeys: [A]}}, {type: linear}]", CodeInvalidValue, "a factory has one issue tracker"},
		"half of gcp":        {factoryFile, "cloudProviders: {gcp: {projectNumber: '1', workloadIdentityFederationProviderId: p}}", CodeMissingRequired, "the key workloadIdentityFederationPoolId is missing"},
		"number of gcp":      {factoryFile, "providers: {gcp: {projectNumber: 1, workloadIdentityFederationPoolId: a, workloadIdentityFederationProviderId: b}}", CodeTypeMismatch, "put it in quotes"},
		"null repositories":  {factoryFile, "repositories: null", CodeTypeMismatch, "repositories: the key has no value"},
		"forges, no hosts":   {factoryFile, "codeForges: []\nrepositories: [{owner: a, name: b}]", CodeInvalidValue, "codeForges: is empty"},
		"host is missing":    {factoryFile, "codeForges: [GITHUB, GITLAB]\nrepositories: [{owner: a, name: b}]", CodeInvalidValue, "does not say which host"},
		"null model":         {factoryFile, "agentDefaults: {model: null}", CodeTypeMismatch, "agentDefaults.model: the key has no value"},
		"two models":         {factoryFile, "agentDefaults: {model: a, harness: {type: oz, model: b}}", CodeInvalidValue, "agentDefaults.model: the harness has a model, too"},
		"model and harness":  {factoryFile, "agentDefaults: {model: a, harness: claude}", CodeInvalidValue, "agentDefaults.model: is the model of the built-in agent"},
		"empty harness":      {"agents/x/agent.md", "harness: {}", CodeInvalidValue, "harness: says nothing"},
		"empty model":        {"agents/x/agent.md", "model: ''", CodeMissingRequired, "model: is empty"},
		"both words":         {"agents/x/agent.md", "harness: {type: codex, model: a, modelId: b}", CodeInvalidValue, "is another word for model"},
		"auth of oz":         {"agents/x/agent.md", "harness: {type: oz, auth: {source: managedSecret, secretName: K}}", CodeInvalidValue, "harness.auth: oz takes no key"},
		"half an auth":       {"agents/x/agent.md", "harness: {type: codex, auth: {source: managedSecret}}", CodeInvalidValue, "harness.auth.secretName"},
		"worker's key":       {"agents/x/agent.md", "harness: {type: codex, auth: {source: workerEnvironment}}", CodeInvalidValue, "needs a self-hosted worker"},
		"runner elsewhere":   {"agents/x/agent.md", "runner: teams", CodeInvalidReference, `there is no runner "teams"`},
		"other system":       {"runners/x.yaml", "platform: {os: windows}", CodeInvalidValue, `"windows" is none`},
		"mac on x86":         {"runners/x.yaml", "platform: {os: macos, arch: x86_64}", CodeInvalidValue, "platform.arch: a Mac has aarch64"},
		"list of platforms":  {"runners/x.yaml", "platform: [linux]", CodeTypeMismatch, "platform: is a list"},
		"two images":         {"runners/x.yaml", "image: a\nplatform: {linux: {dockerImage: b}}", CodeInvalidValue, "image: the platform names an image, too"},
		"mac without one":    {"runners/x.yaml", "platform: {os: macos, mac: {}}", CodeMissingRequired, "the key version is missing"},
		"scorer of nobody":   {"scorers/x/scorer.md", strings.Replace(scorer(""), "boss", "bos", 1), CodeInvalidReference, `there is no agent "bos"`},
		"scorer, one side":   {"scorers/x/scorer.md", strings.Replace(scorer(""), "0.5", "0", 1), CodeInvalidValue, "on one side of passingScore"},
		"scorer, rate":       {"scorers/x/scorer.md", scorer("samplingRate: 0.001\n"), CodeInvalidValue, "at most 2 digits"},
		"scorer, no rubric":  {"scorers/x/scorer.md", strings.Replace(scorer(""), "Rubric.", "", 1), CodeMissingRequired, "the rubric is missing"},
		"scorer is garbage":  {"scorers/x/scorer.md", "garbage", CodeMalformedFrontMatter, "no front matter"},
		"suite of nobody":    {"benchmarks/x/suite.yaml", "name: a\nagent: bos", CodeInvalidReference, `there is no agent "bos"`},
		"suite, no task":     {"benchmarks/x/suite.yaml", "name: a\nagent: boss\ntasks: [one]", CodeInvalidReference, `there is no task "one"`},
		"suite, two models":  {"benchmarks/x/suite.yaml", "name: a\nagent: boss\nconfigurations: [{name: c, role: baseline, agents: [{agent: boss}]}]", CodeInvalidValue, "exactly one of model and harness"},
		"task without suite": {"benchmarks/x/tasks/a.yaml", "title: a\nprompt: b\nsuccessCriteria: c", CodeInvalidReference, "the task has no suite"},
		"schedule twice": {
			"automations/x.md", frontmatter.Join("triggers:\n- {provider: schedule, event: cron_fired, schedule: {name: a, cron: '@daily'}}\n- {provider: schedule, event: cron_fired, schedule: {name: a, cron: '@hourly'}}\n", "Go."),
			CodeInvalidTrigger, `another schedule of the automation is named "a"`,
		},
	} {
		files := sound()
		switch {
		case c.file == factoryFile:
			files[c.file] += "\n" + c.text + "\n"
		case strings.HasSuffix(c.file, agentFile):
			files[c.file] = frontmatter.Join(c.text+"\n", "Go.")
		default:
			files[c.file] = c.text + "\n"
		}
		_, problems := Parse(files)
		if len(problems) != 1 || problems[0].File != c.file || problems[0].Code != c.code || !strings.Contains(problems[0].Message+"; "+problems[0].Hint, c.message) {
			t.Errorf("%s: %+v", name, problems)
		}
	}
}
