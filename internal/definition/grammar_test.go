package definition

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/catalog"
	"github.com/lineshaft/lineshaft/internal/frontmatter"
)

// grammar are the rows of testdata/grammar.txt by their first word, each without it.
func grammar(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/grammar.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		kind, row, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind != "" && kind != "#" {
			rows[kind] = append(rows[kind], row)
		}
	}
	// So that no row is lost without a sign.
	for kind, want := range map[string]int{"key": 168, "value": 18, "event": 46, "path": 11} {
		if len(rows[kind]) != want {
			t.Errorf("testdata/grammar.txt has %d rows %s, not %d", len(rows[kind]), kind, want)
		}
	}
	return rows
}

// sampleFolders are the folders that together have every row. Some keys exclude others.
func sampleFolders(t *testing.T) []Files {
	t.Helper()
	other, err := ReadFS(os.DirFS("testdata/jira"))
	if err != nil {
		t.Fatal(err)
	}
	return []Files{publishedFolder(t), other}
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

// usedRows are the rows that a folder has: every document with the paths of its keys, every
// event with the keys of its filters.
func usedRows(t *testing.T, files Files, used map[string]bool) {
	t.Helper()
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
		if n == nil {
			continue
		}
		walkKeys(n, "", func(path string) { used[doc+" "+serverName.ReplaceAllString(path, "$1.*")] = true })
		if triggers := n.get("triggers"); triggers != nil {
			usedFilters(triggers.items, used)
		}
	}
}

// usedFilters notes each key of a filter with its provider and event.
func usedFilters(triggers []*node, used map[string]bool) {
	for _, trigger := range triggers {
		event := trigger.get("provider").text + " " + trigger.get("event").text
		used[event] = true
		if filter := trigger.get("filter"); filter != nil {
			for _, f := range filter.fields {
				used[event+" "+f.key] = true
			}
		}
	}
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

// Every row of the published format is in one of the samples: each key, each event with
// each key of its filters, each alias, each kind of file.
func TestF2SamplesHaveEveryRow(t *testing.T) {
	t.Parallel()
	used, names := map[string]bool{}, []string{}
	for _, files := range sampleFolders(t) {
		usedRows(t, files, used)
		names = slices.AppendSeq(names, maps.Keys(files))
	}
	rows := grammar(t)
	for _, row := range rows["key"] {
		if !used[row] {
			t.Errorf("no sample has the key %s", row)
		}
	}
	for _, row := range rows["event"] {
		fields := strings.Fields(row)
		event := strings.Join(fields[:2], " ")
		for _, key := range fields[2:] {
			alias, of, _ := strings.Cut(key, "=")
			if key == "|" {
				continue
			}
			if !used[event+" "+alias] {
				t.Errorf("no sample filters %s by %s", event, alias)
			}
			if of != "" && !aliasOf(fields[0], fields[1], alias, of) {
				t.Errorf("%s of %s is not another name of %s", alias, event, of)
			}
		}
	}
	for _, row := range rows["path"] {
		if !slices.ContainsFunc(names, func(name string) bool { ok, _ := path.Match(row, name); return ok }) {
			t.Errorf("no sample has a file %s", row)
		}
	}
}

// aliasOf says whether the catalogue of events knows a key as the alias of another.
func aliasOf(provider, event, alias, of string) bool {
	events, _ := catalog.Catalog(provider)
	at := slices.IndexFunc(events, func(e catalog.EventSpec) bool { return e.Event == event })
	return at >= 0 && slices.ContainsFunc(events[at].Keys, func(k catalog.KeySpec) bool { return k.Name == alias && k.Alias == of })
}

// valueSamples are files with a place for a word of the key.
func valueSamples() map[string][2]string {
	const named = "schemaVersion: v1alpha1\nname: acme\n"
	const trigger = "---\ntriggers:\n  - provider: schedule\n    event: cron_fired\n    schedule: {cron: \"@daily\"}\n"
	const scorer = "---\nagents: [boss]\nlabels: [{value: a, score: 1}, {value: b, score: 0}]\npassingScore: 0.5\nmodel: m\n"
	return map[string][2]string{
		"factory schemaVersion":      {"factory.yaml", "schemaVersion: %s\nname: acme\n"},
		"factory credentialStrategy": {"factory.yaml", named + "credentialStrategy: %s\n"},
		"factory codeForges":         {"factory.yaml", named + "codeForges: [%s]\nrepositories: [{owner: a, name: b}]\n"},
		"factory integrations.type":  {"factory.yaml", named + "integrations:\n  - type: %s\n"},
		"agent agentType":            {"agents/x/agent.md", "---\nagentType: %s\n---\nGo.\n"},
		"agent credentialStrategy":   {"agents/x/agent.md", "---\ncredentialStrategy: %s\n---\nGo.\n"},
		"agent harness.type":         {"agents/x/agent.md", "---\nharness: {type: %s, model: m}\n---\nGo.\n"},
		"agent harness.auth.source": {
			"agents/x/agent.md", "---\nworkerHost: own\nharness: {type: codex, auth: {source: %s}}\n---\nGo.\n",
		},
		"automation enabled":                  {"automations/x/automation.md", trigger + "enabled: %s\n---\nGo.\n"},
		"automation triggers.schedule.cron":   {"automations/x/automation.md", strings.Replace(trigger, "@daily", "%s", 1) + "---\nGo.\n"},
		"runner platform.os":                  {"runners/x.yaml", "platform: {os: %s}\n"},
		"runner platform.arch":                {"runners/x.yaml", "platform: {arch: %s, linux: {dockerImage: a}}\n"},
		"runner platform.mac.version":         {"runners/x.yaml", "platform: {os: macos, mac: {version: \"%s\"}}\n"},
		"webhook authMode":                    {"webhooks/x.yaml", "authMode: %s\nsecretName: A\n"},
		"webhook signatureScheme":             {"webhooks/x.yaml", "authMode: signature\nsignatureScheme: %s\nsecretName: A\n"},
		"scorer output":                       {"scorers/x/scorer.md", scorer + "output: %s\n---\nRubric.\n"},
		"benchmark_suite configurations.role": {"benchmarks/x/suite.yaml", "name: a\nagent: boss\nconfigurations: [{name: c, role: %s}]\n"},
		"benchmark_suite_task startingRepoRefs": {
			"benchmarks/x/tasks/one.yaml", "title: a\nprompt: b\nsuccessCriteria: c\nstartingRepoRefs: [\"%s\"]\n",
		},
	}
}

// Every word that a key takes is accepted and written back as it was.
func TestF2EveryPublishedValue(t *testing.T) {
	t.Parallel()
	for _, row := range grammar(t)["value"] {
		fields := strings.Fields(row)
		sample, known := valueSamples()[fields[0]+" "+fields[1]]
		if !known {
			t.Errorf("no sample for the values of %s", row)
			continue
		}
		for _, word := range fields[2:] {
			text := strings.Replace(sample[1], "%s", strings.ReplaceAll(word, "_", valueSpace(fields[1])), 1)
			checkValue(t, row+": "+word, sample[0], completeValue(word, text))
		}
	}
}

// valueSpace replaces _ in the table, where a value has spaces.
func valueSpace(key string) string {
	if key == "triggers.schedule.cron" {
		return " "
	}
	return "_"
}

// completeValue adds what a word asks for.
func completeValue(word, text string) string {
	switch word {
	case "managedSecret":
		return strings.Replace(text, "source: managedSecret", "source: managedSecret, secretName: K", 1)
	case "signature":
		return text + "signatureScheme: github\n"
	}
	return text
}

func checkValue(t *testing.T, name, file, text string) {
	t.Helper()
	files := sound()
	if word := strings.Contains(text, "agentType: FOREMAN") || strings.Contains(text, "agentType: MAIN"); word {
		delete(files, "agents/boss/agent.md")
	}
	if strings.HasPrefix(file, "benchmarks/x/tasks/") {
		files["benchmarks/x/suite.yaml"] = "name: a\nagent: boss\ntasks: [one]\n"
	}
	files[file] = text
	def, problems := Parse(files)
	if len(problems) > 0 {
		t.Errorf("%s: %+v", name, problems)
		return
	}
	if again := Render(def, files); !maps.Equal(again, files) {
		t.Errorf("%s: rendered as\n%s", name, printed(again))
	}
}

// A folder with every published key is sound, says what has no effect once, and comes
// back byte for byte; also with keys of this server beside them.
func TestF2EveryPublishedKey(t *testing.T) {
	t.Parallel()
	other := sampleFolders(t)[1]
	def, problems := Parse(other)
	if len(problems) > 0 {
		t.Fatalf("%+v", problems)
	}
	if again := Render(def, other); !maps.Equal(again, other) {
		t.Errorf("rendered as\n%s", printed(again))
	}
	files := publishedFolder(t)
	files["agents/helper/agent.md"] = "---\ntimeoutMinutes: 5\nskills: [review]\nbudget: {maxTokens: 5}\n---\nOurs.\n"
	files["runners/text.yml"] = "platform: linux/arm64\nimage: debian:13\n"
	if def, problems = Parse(files); len(problems) > 0 {
		t.Fatalf("%+v", problems)
	}
	subjects := map[string]int{}
	for _, n := range def.Notices {
		subject, _, _ := strings.Cut(n.Message[strings.LastIndex(strings.SplitN(n.Message, ":", 2)[0], ".")+1:], " ")
		subjects[strings.TrimSuffix(subject, ":")]++
	}
	want := map[string]int{
		"credentialStrategy": 1, "codeForges": 1, "codeForge": 1, "cloudProviders": 1, "providers": 1, "integrations": 1, "computerUseModel": 1, "warpId": 1,
		"scorers": 1, "benchmarks": 1, "name": 1, "registryCredentialSecretName": 1, "version": 1,
		"triggers[0]": 4, "secrets": 1, "model": 1,
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
		"unknown tool":       {factoryFile, "integrations: [{type: notion}]", CodeInvalidValue, `integrations[0].type: "notion" is not allowed`},
		"github as a tool":   {factoryFile, "integrations: [{type: GitHub}]", CodeInvalidValue, "github is not named here"},
		"tool twice":         {factoryFile, "integrations: [{type: slack}, {type: Slack}]", CodeInvalidValue, "slack appears twice"},
		"scope of another":   {factoryFile, "integrations: [{type: slack, linear: {}}]", CodeInvalidValue, "is only for type linear"},
		"two trackers":       {factoryFile, "integrations: [{type: jira, jira: {projectKeys: [A]}}, {type: linear}]", CodeInvalidValue, "a factory has one issue tracker"},
		"half of gcp":        {factoryFile, "cloudProviders: {gcp: {projectNumber: '1', workloadIdentityFederationProviderId: p}}", CodeMissingRequired, "the key workloadIdentityFederationPoolId is missing"},
		"number of gcp":      {factoryFile, "providers: {gcp: {projectNumber: 1, workloadIdentityFederationPoolId: a, workloadIdentityFederationProviderId: b}}", CodeTypeMismatch, "put it in quotes"},
		"null repositories":  {factoryFile, "repositories: null", CodeTypeMismatch, "repositories: the key has no value"},
		"forges, no hosts":   {factoryFile, "codeForges: []\nrepositories: [{owner: a, name: b}]", CodeInvalidValue, "codeForges: is empty"},
		"host is missing":    {factoryFile, "codeForges: [GITHUB, GITLAB]\nrepositories: [{owner: a, name: b}]", CodeInvalidValue, "does not say which host"},
		"null model":         {factoryFile, "agentDefaults: {model: null}", CodeTypeMismatch, "agentDefaults.model: the key has no value"},
		"two models":         {factoryFile, "agentDefaults: {model: a, harness: {type: oz, model: b}}", CodeInvalidValue, "agentDefaults.model: the harness also has a model"},
		"model and harness":  {factoryFile, "agentDefaults: {model: a, harness: claude}", CodeInvalidValue, "agentDefaults.model: is the model of the built-in agent"},
		"empty harness":      {"agents/x/agent.md", "harness: {}", CodeInvalidValue, "harness: says nothing"},
		"empty model":        {"agents/x/agent.md", "model: ''", CodeMissingRequired, "model: is empty"},
		"both words":         {"agents/x/agent.md", "harness: {type: codex, model: a, modelId: b}", CodeInvalidValue, "is another word for model"},
		"auth of oz":         {"agents/x/agent.md", "harness: {type: oz, auth: {source: managedSecret, secretName: K}}", CodeInvalidValue, "harness.auth: oz does not take its own key"},
		"half an auth":       {"agents/x/agent.md", "harness: {type: codex, auth: {source: managedSecret}}", CodeInvalidValue, "harness.auth.secretName"},
		"worker's key":       {"agents/x/agent.md", "harness: {type: codex, auth: {source: workerEnvironment}}", CodeInvalidValue, "needs a self-hosted worker"},
		"runner elsewhere":   {"agents/x/agent.md", "runner: teams", CodeInvalidReference, `there is no runner "teams"`},
		"other system":       {"runners/x.yaml", "platform: {os: windows}", CodeInvalidValue, `"windows" is not allowed`},
		"mac on x86":         {"runners/x.yaml", "platform: {os: macos, arch: x86_64}", CodeInvalidValue, "platform.arch: a Mac has aarch64"},
		"list of platforms":  {"runners/x.yaml", "platform: [linux]", CodeTypeMismatch, "platform: is a list"},
		"two images":         {"runners/x.yaml", "image: a\nplatform: {linux: {dockerImage: b}}", CodeInvalidValue, "image: the platform also names an image"},
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
		"key and its alias": {
			"automations/x.md", frontmatter.Join("triggers: [{provider: github, event: pull_request_opened, filter: {baseBranches: [a], base_branches: [b]}}]\n", "Go."),
			CodeInvalidFilter, "stands for base_branches, which is also there",
		},
		"names, not a list": {
			"automations/x.md", frontmatter.Join("triggers: [{provider: linear, event: issue_created, filter: {teams: {in: [ENG]}}}]\n", "Go."),
			CodeTypeMismatch, "filter.teams: is a block of keys; expected a list",
		},
		"zone in the cron": {
			"automations/x.md", frontmatter.Join("triggers: [{provider: schedule, event: cron_fired, schedule: {cron: 'TZ=UTC 0 9 * * 1'}}]\n", "Go."),
			CodeInvalidTrigger, "name the time zone in timezone",
		},
		"flat and in a folder": {
			"automations/twin.md", frontmatter.Join("triggers: [{provider: run, event: finished}]\n", "Go."), CodeDuplicatePath, "describes the automation twin already",
		},
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
		if c.code == CodeDuplicatePath {
			files["automations/twin/automation.md"] = c.text
		}
		_, problems := Parse(files)
		if len(problems) != 1 || !strings.HasPrefix(problems[0].File, strings.TrimSuffix(c.file, ".md")) || problems[0].Code != c.code || !strings.Contains(problems[0].Message+"; "+problems[0].Hint, c.message) {
			t.Errorf("%s: %+v", name, problems)
		}
	}
}

// What the published format lets differ from the usual is accepted: blanks around names,
// values twice below factory.yaml, a hosted worker by its word, owners that are paths.
func TestF2PublishedLeniency(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		factoryFile: "schemaVersion: v1alpha1\nname: acme\nalias: ' größe 1 '\nsecrets: [' A ']\nintegrations: [{type: ' SLACK '}]\n" +
			"codeForges: [GITLAB]\nrepositories: [{owner: a/b/c, name: ' d '}]\n",
		"agents/x/agent.md":           "---\nsecrets: [A, A]\nmcpServers: {}\nworkerHost: warp\nharness: {type: null, model: m, auth: null}\n---\n",
		"automations/x/automation.md": "---\ntriggers: [{provider: github, event: push, filter: {repos: null, branches: {}, paths: {in: null, not_in: []}}}]\n---\nGo.\n",
		"runners/größe 1.yaml":        "description: null\nplatform: {linux: {dockerImage: a}}\n",
	} {
		files := sound()
		files[file] = text
		if _, problems := Parse(files); len(problems) > 0 {
			t.Errorf("%s: %+v", file, problems)
		}
	}
}

func TestF2HintsOfMissingKeys(t *testing.T) {
	t.Parallel()
	for want, k := range map[string]key{
		"add triggers (what starts it)":   {name: "triggers", doc: "What starts it."},
		"add codeForge: GITHUB or GITLAB": {name: "codeForge", doc: "GITHUB or GITLAB"},
	} {
		if got := addHint(k); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
