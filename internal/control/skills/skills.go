// Package skills finds the skills of runs in their repositories and in definitions.
package skills

import "github.com/lineshaft/lineshaft/internal/control/base"

// Skills has the use cases of skills.
type Skills struct {
	*base.Base
	// Reader remembers what forges answered.
	Reader Reader
}

// New returns the room of skills.
func New(b *base.Base) *Skills { return &Skills{Base: b} }
