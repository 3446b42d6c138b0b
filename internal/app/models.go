package app

import (
	"context"

	"github.com/lineshaft/lineshaft/internal/api"
)

// models lists what agents can be asked for: without a model endpoint, the shell only.
func (a *App) models(context.Context) api.ListModelsResponse {
	return api.ListModelsResponse{
		DefaultModelID: "shell",
		Models: []api.ModelInfo{{
			ID: "shell", DisplayName: "Shell blocks (no model)", Provider: "UNKNOWN",
			Description: "Runs the fenced sh and bash blocks of the prompt. No model endpoint is configured on this server.",
		}},
	}
}
