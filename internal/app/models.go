package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/web"
)

// loadModels puts together the endpoints of the file and of the environment. The
// error reports all problems at once and never a key.
func loadModels(cfg config.Config) (model.Set, error) {
	set := model.Set{Default: cfg.Model}
	var errs []error
	if cfg.ModelsFile != "" {
		data, err := os.ReadFile(cfg.ModelsFile)
		if err != nil {
			return set, fmt.Errorf("read models file: %w; check --models-file", err)
		}
		entries, err := model.ParseFile(cfg.ModelsFile, data)
		errs = append(errs, err)
		for _, entry := range entries {
			key, err := endpointKey(entry)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %w", cfg.ModelsFile, entry.Line, err))
			}
			entry.Key = key
			set.Endpoints = append(set.Endpoints, entry.Endpoint)
		}
	}
	for _, v := range cfg.Vendors() {
		protocol := model.Protocol(v.Name)
		name := v.Name
		if slices.ContainsFunc(set.Endpoints, func(e model.Endpoint) bool { return e.Name == name }) {
			name += "-environment"
		}
		set.Endpoints = append(set.Endpoints, model.Endpoint{
			Name: name, Protocol: protocol, URL: strings.TrimRight(cmp.Or(v.URL, protocol.PublicURL()), "/"), Key: lineshaft.SecretText(v.Key.Reveal()),
		})
	}
	return set, errors.Join(errs...)
}

// modelFiles are the files that agents must not see.
func modelFiles(cfg config.Config) []string {
	if cfg.ModelsFile == "" {
		return nil
	}
	files := []string{cfg.ModelsFile}
	data, err := os.ReadFile(cfg.ModelsFile)
	if err != nil {
		return files // the worker does not start without it
	}
	entries, _ := model.ParseFile(cfg.ModelsFile, data) // what it names counts, right or wrong
	for _, entry := range entries {
		files = append(files, entry.KeyFile)
	}
	return files
}

// endpointKey reads the key from where the entry says.
func endpointKey(entry model.Entry) (lineshaft.SecretText, error) {
	var key string
	switch {
	case entry.KeyEnv != "":
		if key = os.Getenv(entry.KeyEnv); key == "" {
			return "", fmt.Errorf("key_env: the variable %s is not set", entry.KeyEnv)
		}
	case entry.KeyFile != "":
		data, err := os.ReadFile(entry.KeyFile)
		if err != nil {
			return "", fmt.Errorf("key_file: %w", err)
		}
		if key = strings.TrimSpace(string(data)); key == "" {
			return "", fmt.Errorf("key_file: %s is empty", entry.KeyFile)
		}
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("the key holds a space or another character that cannot be sent; check how it was copied")
	}
	return lineshaft.SecretText(key), nil
}

// models says what this server can run.
func (a *App) models(context.Context) api.ListModelsResponse {
	endpoints, err := loadModels(a.cfg) // it was right when the server started
	here := lookForAgents(a.cfg, a.opts, a.isolated)
	out := api.ListModelsResponse{Models: modelInfos(endpoints)}
	if standard, ok := standardModel(endpoints); ok {
		out.DefaultModelID = standard.Model
	}
	for _, name := range lineshaft.HarnessTypes() {
		state := here.look(name)
		info := api.HarnessInfo{Type: api.HarnessType(name), Available: state.available, Problem: state.missing}
		if err != nil && noModel(name, endpoints) != "" {
			info.Available, info.Problem = false, "the settings of the model endpoints are not right; `lineshaft doctor` says what"
		}
		out.Harnesses = append(out.Harnesses, info)
	}
	return out
}

// standard is what runs get here that choose nothing.
func (a *App) standard() web.Standard {
	harness := childAllowance(a.cfg, a.opts).DefaultHarness
	out := web.Standard{Harness: harness, Model: defaultModels(a.cfg)[harness]}
	endpoints, _ := loadModels(a.cfg) // it was right when the server started
	for _, info := range modelInfos(endpoints) {
		out.Models = append(out.Models, info.ID)
	}
	return out
}

// absentAgents are the harnesses that cannot run here.
func (a *App) absentAgents() []string {
	here := lookForAgents(a.cfg, a.opts, a.isolated)
	var absent []string
	for _, name := range lineshaft.HarnessTypes() {
		if !here.look(name).available {
			absent = append(absent, name)
		}
	}
	return absent
}

// modelInfos are the models that the endpoints list, and the default where an endpoint
// that lists none lets it through.
func modelInfos(set model.Set) []api.ModelInfo {
	var list []api.ModelInfo
	for _, e := range set.Endpoints {
		for _, id := range e.Models {
			list = append(list, modelInfo(e, id))
		}
	}
	standard, ok := standardModel(set)
	if ok && len(standard.Endpoint.Models) == 0 {
		list = append(list, modelInfo(standard.Endpoint, standard.Model))
	}
	return list
}

// standardModel is the model for runs that choose none; false when nobody has named one
// that an endpoint serves.
func standardModel(set model.Set) (model.Choice, bool) {
	for _, protocol := range append(builtinProtocols(), model.Gemini) {
		if choice, ok := set.ForRun(protocol, ""); ok && choice.Model != "" {
			return choice, true
		}
	}
	return model.Choice{}, false
}

func modelInfo(e model.Endpoint, id string) api.ModelInfo {
	provider := map[model.Protocol]string{model.Anthropic: "ANTHROPIC", model.OpenAI: "OPENAI", model.Gemini: "GOOGLE"}[e.Protocol]
	info := api.ModelInfo{ID: id, DisplayName: id, Provider: provider, Description: "endpoint " + e.Name}
	if _, priced := e.Prices[id]; !priced {
		info.Description += "; no price is set, so its cost is unknown"
	}
	return info
}

// builtinProtocols are those that the built-in agent speaks.
func builtinProtocols() []model.Protocol { return []model.Protocol{model.Anthropic, model.OpenAI} }

// defaultModels are the models of runs that name none, by harness: those that the worker
// in this process takes.
func defaultModels(cfg config.Config) map[string]string {
	set, _ := loadModels(cfg) // no worker starts with what is wrong in them
	models := map[string]string{}
	for _, name := range lineshaft.HarnessTypes() {
		var protocols []model.Protocol
		if agent, ok := preset.Find(name); ok {
			protocols = agent.Protocols
		} else if name == "builtin" || name == "oz" {
			protocols = builtinProtocols()
		}
		if id := set.DefaultFor(protocols...); id != "" {
			models[name] = id
		}
	}
	return models
}

// unnamedModel says that an endpoint could serve the built-in agent, but nobody has
// said with which model; empty otherwise.
func unnamedModel(set model.Set) string {
	speaks := slices.ContainsFunc(set.Endpoints, func(e model.Endpoint) bool { return slices.Contains(builtinProtocols(), e.Protocol) })
	if !speaks || set.DefaultFor(builtinProtocols()...) != "" {
		return ""
	}
	return "no default model is named: the built-in agent works only in runs that name one (config.model_id, `lineshaft run --model NAME`)"
}

// fixUnnamed is what to do about it.
const fixUnnamed = "name one with --model, LINESHAFT_MODEL or the models of the endpoint in the file of --models-file"

// noModel says which endpoint a harness misses, or nothing.
func noModel(name string, set model.Set) string {
	speaks := func(protocols ...model.Protocol) bool {
		return slices.ContainsFunc(set.Endpoints, func(e model.Endpoint) bool { return slices.Contains(protocols, e.Protocol) })
	}
	switch {
	case (name == "builtin" || name == "oz") && !speaks(model.Anthropic, model.OpenAI):
		return "it needs an Anthropic or OpenAI endpoint: set LINESHAFT_ANTHROPIC_API_KEY, LINESHAFT_OPENAI_API_KEY or --models-file"
	case name == "claude" && !speaks(model.Anthropic):
		return "it needs an Anthropic endpoint: set LINESHAFT_ANTHROPIC_API_KEY or --models-file"
	case name == "codex" && !speaks(model.OpenAI):
		return "it needs an OpenAI endpoint: set LINESHAFT_OPENAI_API_KEY or --models-file"
	case name == "gemini" && !speaks(model.Gemini):
		return "it needs a Gemini endpoint: set LINESHAFT_GEMINI_API_KEY or --models-file"
	case name == "opencode" && len(set.Endpoints) == 0:
		return "it needs an endpoint: set LINESHAFT_ANTHROPIC_API_KEY, LINESHAFT_OPENAI_API_KEY, LINESHAFT_GEMINI_API_KEY or --models-file"
	case name == "goose" && !speaks(model.Anthropic, model.OpenAI):
		return "it needs an Anthropic or OpenAI endpoint: set LINESHAFT_ANTHROPIC_API_KEY, LINESHAFT_OPENAI_API_KEY or --models-file"
	}
	return ""
}

const fixIdleModel = "set LINESHAFT_ANTHROPIC_API_KEY, LINESHAFT_OPENAI_API_KEY, LINESHAFT_GEMINI_API_KEY or --models-file (docs/models.md)"

// idleModel says that a model was named and no endpoint could serve it: a key
// was forgotten, or its variable is misspelt.
func idleModel(name string) string {
	return fmt.Sprintf("the model %q is not used: there is no endpoint", name)
}
