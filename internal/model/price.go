package model

import "cmp"

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
