package worker

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

// fillTools makes harness.Environment.ToolServers: the servers of the configuration,
// by name, with the values of their secrets. Managed servers do not exist here and are
// left out with a notice, as the published API has it.
func (e *execution) fillTools() error {
	for _, name := range slices.Sorted(maps.Keys(e.job.Config.MCPServers)) {
		server := e.job.Config.MCPServers[name]
		if server.WarpID != "" {
			e.notice("warning", fmt.Sprintf("Tool server %s is left out: there is no managed server %q here. Name it by command or url instead.", name, server.WarpID))
			continue
		}
		filled, missing := server.Fill(e.job.ToolSecrets)
		if missing != "" {
			return &lineshaft.Error{
				Code:    lineshaft.CodeEnvironmentSetupFailed,
				Message: fmt.Sprintf("tool server %s names secret %s, which the run was not given; create the secret, or start the run without the server", name, missing),
			}
		}
		tool := harness.ToolServer{Name: name, Command: filled.Command, Args: filled.Args, URL: filled.URL, Headers: filled.Headers}
		for _, key := range slices.Sorted(maps.Keys(filled.Env)) {
			tool.Env = append(tool.Env, key+"="+filled.Env[key])
		}
		tool, err := e.throughGateway(tool)
		if err != nil {
			e.warn(e.life, "give tool server", err)
			e.notice("warning", fmt.Sprintf("Tool server %s is left out: this worker could not open the way to it. The log of the worker says why.", name))
			continue
		}
		e.tools = append(e.tools, tool)
	}
	return nil
}

// toolServers is harness.Environment.ToolServers.
func (e *execution) toolServers() []harness.ToolServer { return e.tools }
