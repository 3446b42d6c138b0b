package mcpserver

import "github.com/lineshaft/lineshaft"

// Needs lists every tool with the permission that it asks for.
func Needs() map[string]lineshaft.Permission { return New(Deps{}).needs }
