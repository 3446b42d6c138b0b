package model

import (
	"math"
	"strings"
	"testing"
)

func set() Set {
	return Set{Endpoints: []Endpoint{
		{Name: "a", Protocol: Anthropic, Models: []string{"claude-x", "claude-y"}},
		{Name: "o", Protocol: OpenAI, Models: []string{"gpt-x"}},
		{Name: "local", Protocol: OpenAI},
	}}
}

func TestX12ForRun(t *testing.T) {
	t.Parallel()
	open := Set{Endpoints: []Endpoint{{Name: "a", Protocol: Anthropic}, {Name: "o", Protocol: OpenAI}}}
	standard := set()
	standard.Default = "claude-y"
	for _, test := range []struct {
		set        Set
		protocol   Protocol
		id         string
		name, want string
		ok         bool
	}{
		{set(), Anthropic, "", "a", "claude-x", true},
		{set(), Anthropic, "claude-y", "a", "claude-y", true},
		{set(), OpenAI, "", "o", "gpt-x", true},
		{set(), OpenAI, "gpt-x", "o", "gpt-x", true},
		{set(), OpenAI, "llama", "local", "llama", true},
		{set(), Anthropic, "gpt-x", "", "", false},
		{set(), Anthropic, "llama", "a", "llama", true},
		{set(), Gemini, "", "", "", false},
		{standard, Anthropic, "", "a", "claude-y", true},
		{standard, OpenAI, "", "o", "gpt-x", true},
		{open, Anthropic, "", "a", "", true},
		{open, Anthropic, "gpt-9", "", "", false},
		{open, OpenAI, "claude-9", "", "", false},
		{open, OpenAI, "gpt-9", "o", "gpt-9", true},
		{open, OpenAI, "llama", "o", "llama", true},
	} {
		got, ok := test.set.ForRun(test.protocol, test.id)
		if got.Endpoint.Name != test.name || got.Model != test.want || ok != test.ok {
			t.Errorf("%s %q: %s %q %v, want %s %q %v", test.protocol, test.id, got.Endpoint.Name, got.Model, ok, test.name, test.want, test.ok)
		}
	}
}

func TestX12ForRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		protocol      Protocol
		id, own, want string
		ok            bool
	}{
		{Anthropic, "claude-y", "", "claude-y", true},
		{Anthropic, "helper", "", "claude-x", true},
		{Anthropic, "helper", "claude-y", "claude-y", true},
		{Anthropic, "gone", "gone", "", false},
		{Anthropic, "helper", "gone", "", false},
		{OpenAI, "anything", "", "anything", true},
		{Gemini, "x", "", "", false},
	} {
		got, ok := set().ForRequest(test.protocol, test.id, test.own)
		if ok != test.ok || ok && got.Model != test.want {
			t.Errorf("%s %s in a run with %q: %q %v", test.protocol, test.id, test.own, got.Model, ok)
		}
	}
}

func TestX12Cost(t *testing.T) {
	t.Parallel()
	price := Price{Input: 3_000_000, Output: 15_000_000, CachedInput: 300_000}
	for _, test := range []struct {
		price  Price
		tokens Tokens
		want   int64
	}{
		{price, Tokens{Input: 1000, Cached: 400, Output: 10}, 1800 + 120 + 150},
		{price, Tokens{}, 0},
		{price, Tokens{Input: -5, Output: -1, Cached: 9}, 0},
		{Price{Input: 1}, Tokens{Input: 1}, 1},
		{Price{Input: 1}, Tokens{Input: 1_000_001}, 2}, // a fraction counts as a whole
		{Price{Input: 2_000_000, Output: 1}, Tokens{Input: 10, Cached: 10}, 20},
		{Price{}, Tokens{Input: 1 << 40}, 0},
		{price, Tokens{Input: 1000, Cached: 400, Written: 100}, 1800 + 120}, // without a price of its own as input
		{Price{Input: 3_000_000, CachedInput: 300_000, CacheWrite: 3_750_000}, Tokens{Input: 1000, Cached: 400, Written: 100}, 1500 + 120 + 375},
		{Price{Input: 3_000_000, CacheWrite: 4_000_000}, Tokens{Input: 10, Cached: 8, Written: 99}, 24 + 8},
	} {
		if got := test.price.Cost(test.tokens); got != test.want {
			t.Errorf("%+v at %+v costs %d, want %d", test.tokens, test.price, got, test.want)
		}
	}
	most := Price{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}.Cost(Tokens{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64})
	if most <= 0 {
		t.Errorf("the largest numbers cost %d", most)
	}
}

func TestX12ModelsFile(t *testing.T) {
	t.Parallel()
	entries, err := ParseFile("models.yaml", []byte(`
endpoints:
  - name: main
    protocol: anthropic
    key_env: MAIN_KEY
    models:
      - id: claude-x
        input_usd_per_mtok: 3
        output_usd_per_mtok: 15.5
        cached_input_usd_per_mtok: 0.3
        cache_write_usd_per_mtok: 3.75
      - claude-free
  - protocol: openai
    url: http://127.0.0.1:11434/v1/
    models: [{id: llama, input_usd_per_mtok: 0, output_usd_per_mtok: 0}]
`))
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	a, o := entries[0], entries[1]
	if a.Name != "main" || a.URL != "https://api.anthropic.com" || a.KeyEnv != "MAIN_KEY" || strings.Join(a.Models, " ") != "claude-x claude-free" || a.Prices["claude-x"] != (Price{3_000_000, 15_500_000, 300_000, 3_750_000}) || len(a.Prices) != 1 || a.Line != 3 {
		t.Errorf("first is %+v", a)
	}
	if _, priced := o.Prices["llama"]; o.Name != "openai" || o.URL != "http://127.0.0.1:11434/v1" || !priced {
		t.Errorf("second is %+v", o)
	}
}

func TestX12ModelsFileProblems(t *testing.T) {
	t.Parallel()
	_, err := ParseFile("m.yaml", []byte(`
endpoint: []
endpoints:
  - name: a
    protocol: antropic
    api_key: sk-should-not-be-shown
  - name: a
    protocol: openai
    url: ftp://x
    key_env: A
    key_file: B
    models:
      - ids: x
      - {id: y, input_usd_per_mtok: 1, cache_write_usd_per_mtok: 2}
      - {id: y, input_usd_per_mtok: -1, output_usd_per_mtok: lots}
    modles: []
  - text
`))
	if err == nil {
		t.Fatal("no problem was found")
	}
	for _, want := range []string{
		`m.yaml:2: unknown key "endpoint"; did you mean endpoints?`, `m.yaml:4: protocol: "antropic" is not one of anthropic, openai, gemini; did you mean anthropic?`,
		`m.yaml:6: endpoint: unknown key "api_key"; keys do not belong in this file`, `m.yaml:7: the name "a" appears twice`, `m.yaml:7: url: write a whole URL`,
		`m.yaml:7: key_env and key_file`, `m.yaml:13: model: unknown key "ids"; did you mean id?`, `m.yaml:13: a model needs its id`, `m.yaml:14: the model "y": a price needs both`,
		`m.yaml:15: the model "y" appears twice`, `m.yaml:15: input_usd_per_mtok: write US dollars`, `m.yaml:16: endpoint: unknown key "modles"; did you mean models?`, "m.yaml:17: endpoint: write `key: value`",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing: %s", want)
		}
	}
	if strings.Contains(err.Error(), "sk-should") || t.Failed() {
		t.Logf("problems are\n%v", err)
	}
	for _, text := range []string{"endpoints: 5", "- a", "endpoints: [", "a"} {
		if _, err := ParseFile("m.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "m.yaml:") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got, err := ParseFile("m.yaml", nil); err != nil || len(got) != 0 {
		t.Errorf("an empty file: %v %v", got, err)
	}
}

func FuzzModelsFile(f *testing.F) {
	f.Add([]byte("endpoints:\n  - {protocol: openai, models: [a, {id: b}]}\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = ParseFile("f", data) })
}
