// Package examples holds one example of each body that the API takes and answers
// with. The OpenAPI document shows them, and every client's types are held to them.
package examples

import "embed"

// Files holds the examples, as NAME.json.
//
//go:embed *.json
var Files embed.FS
