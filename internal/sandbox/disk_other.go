//go:build !linux

package sandbox

import "context"

// quota is a limit for what one folder holds.
type quota struct {
	Dir   string
	Bytes int64
}

// watch holds nothing: agents are bounded on Linux.
func (quota) watch(context.Context, chan<- struct{}) {}
