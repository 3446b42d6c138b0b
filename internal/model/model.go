// Package model says how models are reached and what they cost: the protocols,
// the endpoints that an operator has set up, and the table of prices. It does no
// I/O; the gateway and the built-in agent talk to the endpoints.
package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Protocol is the language of a model API.
type Protocol string

// The protocols that the worker's gateway speaks.
const (
	// Anthropic is the Messages API: POST /v1/messages.
	Anthropic Protocol = "anthropic"
	// OpenAI is Chat Completions and Responses: POST /chat/completions, /responses.
	OpenAI Protocol = "openai"
	// Gemini is generateContent: POST /v1beta/models/MODEL:generateContent.
	Gemini Protocol = "gemini"
)

// Protocols lists them.
func Protocols() []Protocol { return []Protocol{Anthropic, OpenAI, Gemini} }

// PublicURL is the vendor's own address; see [Endpoint.URL].
func (p Protocol) PublicURL() string {
	switch p {
	case Anthropic:
		return "https://api.anthropic.com"
	case OpenAI:
		return "https://api.openai.com/v1"
	case Gemini:
		return "https://generativelanguage.googleapis.com"
	}
	return ""
}

// Endpoint is one model API that an operator has set up.
type Endpoint struct {
	// Name tells endpoints apart in messages and lists.
	Name     string
	Protocol Protocol
	// URL is what the paths of the protocol are put behind, as the vendor's own
	// clients take it: https://api.example.com for Anthropic and Gemini,
	// https://api.example.com/v1 for OpenAI.
	URL string
	// Key is sent to the endpoint and nowhere else.
	Key lineshaft.SecretText
	// Models are those that it offers, the default first; empty lets every name through.
	Models []string
	// Prices are by model; a model that is not in it has no known price.
	Prices map[string]Price
}

func (e Endpoint) offers(id string) bool { return slices.Contains(e.Models, id) }

// Set is all that an operator has set up.
type Set struct {
	Endpoints []Endpoint
	// Default is the model of runs that do not choose; empty leaves it to the endpoint.
	Default string
}

// Choice is the endpoint that answers a request, and the model that it is asked for.
type Choice struct {
	Endpoint Endpoint
	// Model is empty when nobody has named one: the agent then takes its own default.
	Model string
}

// ForRun chooses for a run that asks for a model, or for none when id is empty. It
// is false when no endpoint speaks the protocol, and when the model is one of
// another protocol's: agents that speak several then find the right one.
func (s Set) ForRun(protocol Protocol, id string) (Choice, bool) {
	speaks := s.speaking(protocol)
	if len(speaks) == 0 {
		return Choice{}, false
	}
	if id != "" {
		if s.elsewhere(protocol, id) {
			return Choice{}, false
		}
		if e, ok := find(speaks, id); ok {
			return Choice{e, id}, true
		}
		return Choice{speaks[0], id}, true // the endpoint's own words say what is wrong with it
	}
	if s.Default != "" && !s.elsewhere(protocol, s.Default) {
		if e, ok := find(speaks, s.Default); ok {
			return Choice{e, s.Default}, true
		}
	}
	for _, e := range speaks {
		if len(e.Models) > 0 {
			return Choice{e, e.Models[0]}, true
		}
	}
	return Choice{speaks[0], ""}, true
}

// DefaultFor is the model of runs that choose none, for agents that speak one of the
// protocols; empty when nobody has named one.
func (s Set) DefaultFor(protocols ...Protocol) string {
	for _, protocol := range protocols {
		if choice, ok := s.ForRun(protocol, ""); ok && choice.Model != "" {
			return choice.Model
		}
	}
	return ""
}

// ForRequest chooses for a request that names a model, within a run that asks for
// own, or for none. A name that no endpoint has gets the run's model: agents ask
// for small helper models by themselves, under names that they have built in. Only
// the run's own choice is not replaced: it is false when no endpoint has it.
func (s Set) ForRequest(protocol Protocol, id, own string) (Choice, bool) {
	if id != "" {
		if e, ok := find(s.speaking(protocol), id); ok {
			return Choice{e, id}, true
		}
		if id == own {
			return Choice{}, false
		}
	}
	choice, ok := s.ForRun(protocol, own)
	if ok && own != "" {
		_, ok = find(s.speaking(protocol), own)
	}
	return choice, ok
}

// WithKey is what a run with a key of its own reaches: the endpoints of one protocol, called
// with that key, or the vendor itself where the operator has none.
func (s Set) WithKey(protocol Protocol, key lineshaft.SecretText) Set {
	own := Set{Endpoints: s.speaking(protocol), Default: s.DefaultFor(protocol)}
	if len(own.Endpoints) == 0 {
		own.Endpoints = []Endpoint{{Name: string(protocol), Protocol: protocol, URL: protocol.PublicURL()}}
	}
	for i := range own.Endpoints {
		own.Endpoints[i].Key = key
	}
	return own
}

func (s Set) speaking(protocol Protocol) []Endpoint {
	var list []Endpoint
	for _, e := range s.Endpoints {
		if e.Protocol == protocol {
			list = append(list, e)
		}
	}
	return list
}

// find takes the endpoint that lists a model, else one that lets every name through.
func find(list []Endpoint, id string) (Endpoint, bool) {
	for _, e := range list {
		if e.offers(id) {
			return e, true
		}
	}
	for _, e := range list {
		if len(e.Models) == 0 {
			return e, true
		}
	}
	return Endpoint{}, false
}

// elsewhere says that a model, which no endpoint of the protocol lists, belongs to
// another protocol: one lists it, or its name is that vendor's.
func (s Set) elsewhere(protocol Protocol, id string) bool {
	vendor := vendorOf(id)
	if slices.ContainsFunc(s.speaking(protocol), func(e Endpoint) bool { return e.offers(id) }) {
		return false
	}
	return slices.ContainsFunc(s.Endpoints, func(e Endpoint) bool {
		return e.Protocol != protocol && (e.offers(id) || len(e.Models) == 0 && e.Protocol == vendor)
	})
}

// vendorOf guesses the protocol from the families of names that everybody knows; it
// matters only between endpoints that do not list their models.
func vendorOf(id string) Protocol {
	for prefix, protocol := range map[string]Protocol{
		"claude": Anthropic, "gemini": Gemini, "gpt-": OpenAI, "codex": OpenAI, "o1": OpenAI, "o3": OpenAI, "o4": OpenAI,
	} {
		if strings.HasPrefix(id, prefix) {
			return protocol
		}
	}
	return ""
}

// Price is what a model costs, in millionths of a US dollar per million tokens.
type Price struct {
	Input  int64 `json:"input,omitempty"`
	Output int64 `json:"output,omitempty"`
	// CachedInput is for tokens read from a cache; zero means as Input.
	CachedInput int64 `json:"cached_input,omitempty"`
	// CacheWrite is for tokens written into a cache; zero means as Input.
	CacheWrite int64 `json:"cache_write,omitempty"`
}

const (
	// MaxPrice bounds each part of a price: a thousand dollars per million tokens.
	MaxPrice = 1000 * 1_000_000
	// maxTokens bounds what one request can count, whatever an endpoint claims: with
	// MaxPrice the sums stay within 64 bits.
	maxTokens = 1_000_000_000
	million   = 1_000_000
)

// Tokens is what one request has consumed.
type Tokens struct {
	// Input is all that was read, Cached the part of it that came from a cache.
	Input, Cached int64
	// Written is the part of Input that was written into a cache.
	Written int64
	// Output is all that was written, thoughts included.
	Output int64
}

// Total is the number of tokens both ways.
func (t Tokens) Total() int64 { return t.Input + t.Output }

// Bounded makes sense of numbers that come from outside.
func (t Tokens) Bounded() Tokens {
	t.Input, t.Output = clamp(t.Input, maxTokens), clamp(t.Output, maxTokens)
	t.Cached = clamp(t.Cached, t.Input)
	t.Written = clamp(t.Written, t.Input-t.Cached)
	return t
}

func clamp(n, most int64) int64 { return max(0, min(n, most)) }

// Cost is in millionths of a US dollar. A fraction counts as a whole, so that a
// budget is never undercut by rounding.
func (p Price) Cost(tokens Tokens) int64 {
	tokens = tokens.Bounded()
	cached, written := cmp.Or(p.CachedInput, p.Input), cmp.Or(p.CacheWrite, p.Input)
	parts := (tokens.Input-tokens.Cached-tokens.Written)*clamp(p.Input, MaxPrice) + tokens.Cached*clamp(cached, MaxPrice) +
		tokens.Written*clamp(written, MaxPrice) + tokens.Output*clamp(p.Output, MaxPrice)
	return (parts + million - 1) / million
}
