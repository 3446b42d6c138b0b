package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// showRun prints one run for a person.
func (sh *shell) showRun(run *client.Run) {
	state := sh.paint(sh.outWidth, stateStyle(run.State), oneLine(string(run.State)))
	list := [][2]string{
		{"Run", oneLine(run.RunID)},
		{"Title", oneLine(run.Title)},
		{"State", state},
		{"Message", statusText(run.StatusMessage)},
		{"Source", oneLine(run.Source)},
		{"Creator", who(run.Creator)},
		{"Created", sh.when(run.CreatedAt)},
		{"Updated", sh.when(run.UpdatedAt)},
		{"Started", sh.whenSet(run.StartedAt)},
		{"Finished", sh.whenSet(run.FinishedAt)},
		{"Run time", oneLine(run.RunTime)},
	}
	list = append(list, configPairs(run.AgentConfig)...)
	list = append(list, [][2]string{
		{"Parent", oneLine(run.ParentRunID)},
		{"Factory", oneLine(run.FactoryUID)},
		{"Session", oneLine(run.SessionLink)},
		{"Conversation", oneLine(run.ConversationID)},
		{"Usage", usageText(run.RequestUsage)},
		{"Metadata", metadataText(run.Metadata)},
	}...)
	for _, a := range run.Artifacts {
		list = append(list, [2]string{"Artifact", artifactText(a)})
	}
	sh.pairs(list)
	if run.Prompt != "" {
		fmt.Fprintf(sh.out, "\n%s\n", strings.TrimRight(clean(run.Prompt), "\n"))
	}
}

func configPairs(cfg *client.AgentConfig) [][2]string {
	if cfg == nil {
		return nil
	}
	harness := ""
	if cfg.Harness != nil {
		harness = strings.TrimSpace(cfg.Harness.Type + " " + strings.Join(cfg.Harness.Command, " "))
	}
	skills := cfg.Skills
	if len(skills) == 0 && cfg.SkillSpec != "" {
		skills = []string{cfg.SkillSpec}
	}
	tools := slices.Sorted(maps.Keys(cfg.MCPServers))
	var secrets []string
	for _, ref := range cfg.Secrets {
		secrets = append(secrets, ref.Name)
	}
	return [][2]string{
		{"Name", oneLine(cfg.Name)},
		{"Model", oneLine(cfg.ModelID)},
		{"Harness", oneLine(harness)},
		{"Worker", oneLine(cfg.WorkerHost)},
		{"Environment", oneLine(cfg.EnvironmentID)},
		{"Skills", oneLine(strings.Join(skills, ", "))},
		{"Tools", oneLine(strings.Join(tools, ", "))},
		{"Secrets", oneLine(strings.Join(secrets, ", "))},
	}
}

func statusText(status *client.StatusMessage) string {
	if status == nil {
		return ""
	}
	text := oneLine(status.Message)
	if status.ErrorCode != "" {
		text += " (" + oneLine(status.ErrorCode) + ")"
	}
	return text
}

func who(p *client.Principal) string {
	if p == nil {
		return ""
	}
	if p.DisplayName == "" {
		return oneLine(p.UID)
	}
	return oneLine(p.DisplayName)
}

func (sh *shell) whenSet(at *time.Time) string {
	if at == nil {
		return ""
	}
	return sh.when(*at)
}

func usageText(u *client.Usage) string {
	if u == nil || u.TotalTokens == 0 && u.InferenceCostUSD == 0 {
		return ""
	}
	return fmt.Sprintf("%d tokens, $%.4f", u.TotalTokens, u.InferenceCostUSD)
}

func metadataText(metadata map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		pairs = append(pairs, oneLine(key+"="+metadata[key]))
	}
	return strings.Join(pairs, ", ")
}

func artifactText(a client.Artifact) string {
	parts := []string{a.ArtifactType}
	for _, part := range []string{a.Data.FileName, a.Data.URL, a.Data.ArtifactUID} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return oneLine(strings.Join(parts, " "))
}
