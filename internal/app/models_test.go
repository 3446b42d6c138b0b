package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/shell"
	"github.com/lineshaft/lineshaft/internal/model"
)

// modelsFile writes a file of endpoints.
func modelsFile(t *testing.T, text string) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.ModelsFile = filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(cfg.ModelsFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestX12ModelsComeFromFileAndEnvironment(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("  the-key-of-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := modelsFile(t, "endpoints:\n  - {name: anthropic, protocol: anthropic, key_file: "+key+", models: [{id: a, input_usd_per_mtok: 1, output_usd_per_mtok: 2}, b]}\n")
	cfg.AnthropicAPIKey, cfg.OpenAIURL, cfg.Model = "env-key", "http://127.0.0.1:1/v1/", "b"
	set, err := loadModels(cfg)
	if err != nil || len(set.Endpoints) != 3 || set.Default != "b" {
		t.Fatal(set, err)
	}
	if e := set.Endpoints[0]; e.Key != "the-key-of-the-file" || e.URL != "https://api.anthropic.com" {
		t.Errorf("first is %+v", e)
	}
	if e := set.Endpoints[1]; e.Name != "anthropic-environment" || e.Key != "env-key" || e.URL != "https://api.anthropic.com" {
		t.Errorf("second is %+v", e)
	}
	if e := set.Endpoints[2]; e.Name != "openai" || e.Key != "" || e.URL != "http://127.0.0.1:1/v1" {
		t.Errorf("third is %+v", e)
	}
	if files := strings.Join(serverFiles(cfg), " "); !strings.Contains(files, cfg.ModelsFile) || !strings.Contains(files, key) {
		t.Errorf("agents can see the files: %s", files)
	}
	a := &App{cfg: cfg}
	got := a.models(t.Context())
	if got.DefaultModelID != "b" || len(got.Models) != 2 || got.Models[0].ID != "a" || got.Models[0].Provider != "ANTHROPIC" || !strings.Contains(got.Models[1].Description, "no price") {
		t.Errorf("models are %+v", got)
	}
	if strings.Contains(strings.Join([]string{got.Models[0].Description, got.Models[1].Description}, ""), "the-key") {
		t.Error("a key is shown")
	}
}

// what is listed is what runs get, as doctor has it: a default that no endpoint
// lists is among them, one that nothing serves is not.
func TestX6ListedModelsAreThoseThatRunsGet(t *testing.T) {
	t.Parallel()
	idle, open := config.Default(), config.Default()
	idle.Model = "m"
	open.Model, open.OpenAIAPIKey = "gpt-m", "a-key-of-this-test"
	for name, test := range map[string]struct {
		cfg            config.Config
		standard, list string
	}{
		"no endpoint":           {idle, "", ""},
		"endpoint without list": {open, "gpt-m", "gpt-m"},
		"two endpoints":         {modelsFile(t, "endpoints:\n  - {protocol: gemini, models: [g]}\n  - {protocol: openai, models: [o]}\n"), "o", "g o"},
	} {
		got := (&App{cfg: test.cfg}).models(t.Context())
		var ids []string
		for _, m := range got.Models {
			ids = append(ids, m.ID)
		}
		if list := strings.Join(ids, " "); got.DefaultModelID != test.standard || list != test.list {
			t.Errorf("%s: default %q of %q, want %q of %q", name, got.DefaultModelID, list, test.standard, test.list)
		}
	}
}

func TestX12ModelSettingsThatAreWrong(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := config.Default()
	missing.ModelsFile = filepath.Join(t.TempDir(), "none.yaml")
	for want, cfg := range map[string]config.Config{
		"check --models-file": missing,
		"models.yaml:2: key_env: the variable LINESHAFT_TEST_NO_SUCH_KEY is not set": modelsFile(t, "endpoints:\n  - {protocol: openai, key_env: LINESHAFT_TEST_NO_SUCH_KEY}\n"),
		"is empty": modelsFile(t, "endpoints:\n  - {protocol: openai, key_file: "+empty+"}\n"),
		`models.yaml:2: endpoint: unknown key "protokol"; did you mean protocol?`: modelsFile(t, "endpoints:\n  - {protokol: openai}\n"),
	} {
		if _, err := loadModels(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if c := checkModels(cfg); c.State != config.CheckProblem || c.Fix == "" {
			t.Errorf("doctor says %+v", c)
		}
		if _, err := newWorker(cfg, Options{}, workerParts{id: "w"}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the worker starts with %v", err)
		}
	}
}

func TestX12DoctorLooksAtModels(t *testing.T) {
	t.Parallel()
	idle := config.Default()
	idle.Model = "m"
	if c := checkModels(idle); c.State != config.CheckWarning || !strings.Contains(c.Detail, `"m" is not used: there is no endpoint`) || !strings.Contains(c.Fix, "LINESHAFT_OPENAI_API_KEY") {
		t.Errorf("%+v", c)
	}
	if c := checkModels(config.Default()); c.State != config.CheckOK || !strings.Contains(c.Detail, "LINESHAFT_ANTHROPIC_API_KEY") {
		t.Errorf("without an endpoint: %+v", c)
	}
	cfg := config.Default()
	cfg.GeminiAPIKey = "a-key-of-this-test"
	if c := checkModels(cfg); c.State != config.CheckWarning || !strings.Contains(c.Detail, "without a price") || strings.Contains(c.Detail+c.Fix, "a-key") {
		t.Errorf("without prices: %+v", c)
	}
	if c := checkModels(modelsFile(t, "endpoints:\n  - {protocol: openai, models: [{id: a, input_usd_per_mtok: 1, output_usd_per_mtok: 2}]}\n")); c.State != config.CheckOK || !strings.Contains(c.Detail, "openai (openai, 1 model listed)") {
		t.Errorf("with prices: %+v", c)
	}
}

// fake has a name and nothing else.
type fake struct {
	harness.Harness
	name string
}

func (f fake) Name() string { return f.name }

func TestX6DefaultHarness(t *testing.T) {
	t.Parallel()
	unnamed := model.Set{Endpoints: []model.Endpoint{{Protocol: model.OpenAI}}}
	withModel := model.Set{Default: "m", Endpoints: unnamed.Endpoints}
	listed := model.Set{Endpoints: []model.Endpoint{{Protocol: model.Anthropic, Models: []string{"a"}}}}
	gemini := model.Set{Default: "gemini-x", Endpoints: []model.Endpoint{{Protocol: model.Gemini}}}
	both := []harness.Harness{shell.Shell{}, fake{name: "builtin"}}
	command, chosen := config.Default(), config.Default()
	command.AgentCommand, chosen.DefaultHarness = []string{"x"}, "shell"
	for _, test := range []struct {
		cfg       config.Config
		models    model.Set
		harnesses []harness.Harness
		want      string
	}{
		{config.Default(), model.Set{}, both, ""},
		{config.Default(), withModel, both, "builtin"},
		{config.Default(), listed, both, "builtin"},
		{config.Default(), unnamed, both, ""},
		{config.Default(), gemini, both, ""},
		{config.Default(), withModel, both[:1], ""},
		{command, withModel, both, "command"},
		{chosen, withModel, both, "shell"},
	} {
		if got := defaultHarness(test.cfg, test.models, test.harnesses); got != test.want {
			t.Errorf("default is %q, want %q", got, test.want)
		}
	}
}

func TestX6HarnessesSayWhichModelTheyMiss(t *testing.T) {
	t.Parallel()
	only := func(p model.Protocol) model.Set { return model.Set{Endpoints: []model.Endpoint{{Protocol: p}}} }
	for _, test := range []struct {
		name string
		set  model.Set
		want string
	}{
		{"builtin", only(model.Gemini), "LINESHAFT_OPENAI_API_KEY"},
		{"oz", only(model.OpenAI), ""},
		{"claude", only(model.OpenAI), "LINESHAFT_ANTHROPIC_API_KEY"},
		{"codex", only(model.Anthropic), "LINESHAFT_OPENAI_API_KEY"},
		{"gemini", model.Set{}, "LINESHAFT_GEMINI_API_KEY"},
		{"gemini", only(model.Gemini), ""},
		{"opencode", model.Set{}, "LINESHAFT_GEMINI_API_KEY"},
		{"opencode", only(model.Gemini), ""},
		{"goose", only(model.Gemini), "LINESHAFT_OPENAI_API_KEY"},
		{"goose", only(model.Anthropic), ""},
		{"shell", model.Set{}, ""},
	} {
		if got := noModel(test.name, test.set); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
