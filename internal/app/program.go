package app

import (
	"context"

	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// OpenAPI is the description of the API that this program serves.
func OpenAPI() ([]byte, error) { return api.OpenAPI() }

// Supervise is the body of the process beside each agent; it returns the exit code.
func Supervise(ctx context.Context) int { return sandbox.Supervise(ctx) }

// Forward is what agents without a network are started through; it returns the exit code.
func Forward(ctx context.Context, args []string) int { return sandbox.RunForward(ctx, args) }
