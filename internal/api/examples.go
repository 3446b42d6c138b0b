package api

import (
	"encoding/json"
	"maps"
)

// The examples of the OpenAPI document. They are typed, so they cannot leave the
// wire types behind; api/examples holds them as JSON for the clients' tests.

const (
	exampleRunID          = "01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b11"
	exampleConversationID = "01980f6e-5b7d-7b0e-8a41-5f0d1c2e3a44"
	exampleSessionID      = "01980f6e-8c10-7d3b-b6e0-2a9f4c5d6e77"
	exampleExecutionID    = "01980f6e-7a01-7f55-a1b2-c3d4e5f60718"
	exampleFollowupID     = "01980f70-1122-7a3b-8c4d-5e6f70819203"
	exampleArtifactID     = "01980f6f-aaaa-7bbb-8ccc-9ddddeeeefff"
	exampleKeyID          = "01980f00-0a0b-7c0d-8e0f-101112131415"
	exampleFactoryUID     = "01980f10-2233-7445-9667-8899aabbccdd"
	exampleAutomationUID  = "01980f11-3344-7556-8778-99aabbccddee"
	exampleCreatedAt      = "2026-08-01T09:30:00.000000Z"
	exampleStartedAt      = "2026-08-01T09:30:01.250000Z"
	exampleFinishedAt     = "2026-08-01T09:32:31.250000Z"
	exampleBase           = "https://lineshaft.example"
)

// Examples returns the checked-in example files by name.
func Examples() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, value := range exampleValues() {
		text, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return nil, err
		}
		files[name+".json"] = append(text, '\n')
	}
	return files, nil
}

func exampleValues() map[string]any {
	values := map[string]any{
		"run_agent_request":      exampleRunRequest(),
		"run_agent_response":     exampleStarted(),
		"run_item":               exampleRun(),
		"list_runs_response":     exampleRunList(),
		"run_followup_request":   exampleFollowup(),
		"run_followup_response":  exampleFollowedUp(),
		"cancel_runs_request":    exampleCancelRuns(),
		"run_report_request":     exampleRunReport(),
		"run_report_response":    exampleReported(),
		"run_events_response":    exampleEvents(),
		"timeline_response":      exampleTimeline(),
		"conversation_response":  exampleConversation(),
		"artifact_response":      exampleArtifact(),
		"attachments_response":   exampleAttachments(),
		"models_response":        exampleModels(),
		"workers_response":       exampleWorkers(),
		"list_agents_response":   exampleSkills(),
		"whoami_response":        exampleWhoami(),
		"create_apikey_request":  exampleAPIKeyRequest(),
		"create_apikey_response": exampleCreatedAPIKey(),
		"list_apikeys_response":  exampleAPIKeys(),
		"audit_response":         exampleAudit(),
		"create_secret_request":  exampleSecretRequest(),
		"secret":                 exampleSecret(),
		"list_secrets_response":  exampleSecrets(),
		"error":                  exampleProblem(),
	}
	maps.Copy(values, environmentExamples())
	maps.Copy(values, factoryExamples())
	maps.Copy(values, agentExamples())
	maps.Copy(values, webhookExamples())
	maps.Copy(values, deliveryExamples())
	maps.Copy(values, notificationExamples())
	maps.Copy(values, definitionExamples())
	return values
}

func ptr[T any](v T) *T { return &v }

func exampleRunRequest() RunAgentRequest {
	return RunAgentRequest{
		Prompt: "Find out why the nightly build fails and open a pull request with the fix.",
		Title:  "Mend the nightly build",
		Config: &AmbientAgentConfig{
			Name: "build-doctor", ModelID: "sonnet", WorkerHost: "hosted", TimeoutMinutes: ptr(45),
			MCPServers: &MCPServers{servers: map[string]MCPServerConfig{
				"tracker": {URL: "https://mcp.example/tracker", Headers: map[string]string{"Authorization": "{{TRACKER_TOKEN}}"}},
			}},
			Harness: &Harness{Type: "builtin"},
			Budget:  &Budget{MaxTokens: ptr(int64(2_000_000)), MaxCostUSD: ptr(5.5)},
			Retry:   &Retry{MaxAttempts: ptr(2)}, Concurrency: &Concurrency{Key: "nightly-build", Policy: "queue"},
		},
		Attachments: []AttachmentInput{{FileName: "build.log", MimeType: "text/plain", Data: "ZmFpbGVkOiBsaW50ZXIK"}},
		Metadata:    Metadata{"ticket": "OPS-42"},
	}
}

func exampleStarted() RunAgentResponse {
	return RunAgentResponse{RunID: exampleRunID, TaskID: exampleRunID, State: "QUEUED"}
}

func exampleUser() RunCreatorInfo {
	return RunCreatorInfo{Type: "user", UID: "user-7", DisplayName: "Ada", Email: "ada@example.org"}
}

func exampleRun() RunItem {
	return RunItem{
		RunID: exampleRunID, TaskID: exampleRunID, Title: "Mend the nightly build",
		Prompt:          "Find out why the nightly build fails and open a pull request with the fix.",
		SubmittedPrompt: "Find out why the nightly build fails and open a pull request with the fix.",
		State:           "SUCCEEDED", CreatedAt: exampleCreatedAt, UpdatedAt: exampleFinishedAt,
		StartedAt: ptr(exampleStartedAt), FinishedAt: ptr(exampleFinishedAt), RunTime: "PT2M30S", RootRunID: exampleRunID,
		StatusMessage: RunStatusMessage{Message: "The agent finished."}, Source: "API", Creator: exampleUser(),
		Executor: &RunCreatorInfo{Type: "service_account", UID: "builtin", DisplayName: "Built-in agent"},
		AgentConfig: &AmbientAgentConfig{
			Name: "build-doctor", ModelID: "sonnet", WorkerHost: "hosted", IdleTimeoutMinutes: ptr(10), TimeoutMinutes: ptr(45),
			StallMinutes: ptr(10), QueueTimeoutMinutes: ptr(1440), Retry: &Retry{MaxAttempts: ptr(2)}, Harness: &Harness{Type: "builtin"},
		},
		SessionID: exampleSessionID, SessionLink: exampleBase + "/runs/" + exampleRunID, ConversationID: exampleConversationID,
		Metadata: Metadata{"ticket": "OPS-42"}, Artifacts: []ArtifactItem{
			{ArtifactType: "PULL_REQUEST", CreatedAt: exampleFinishedAt, Data: ArtifactItemData{
				URL: "https://forge.example/acme/build/pull/7", Branch: ptr("mend-nightly"), Status: "unknown",
			}},
			{ArtifactType: "FILE", CreatedAt: exampleFinishedAt, Data: ArtifactItemData{
				ArtifactUID: exampleArtifactID, FilePath: "report.md", FileName: "report.md", MimeType: "text/markdown", SizeBytes: ptr(int64(512)),
			}},
		},
		RequestUsage: &RequestUsage{TotalTokens: 81_250, InferenceCostUSD: 0.42, ModelTokenUsage: []ModelTokenUsage{{
			ModelID: "example-large", TotalTokens: 81_250, UsageType: "custom_endpoint", InferenceCostUSD: 0.42,
			TokensByCategory: map[string]int64{"input": 20_000, "input_cache_read": 60_000, "output": 1250},
		}}},
		ExecutionLocation: "REMOTE", IsCancellable: true, Scope: Scope{Type: "Team"},
	}
}

func exampleRunList() ListRunsResponse {
	return ListRunsResponse{Runs: []RunItem{exampleRun()}, PageInfo: PageInfo{HasNextPage: true, NextCursor: "eyJ2IjoxfQ"}}
}

func exampleFollowup() RunFollowupRequest {
	return RunFollowupRequest{Message: "Please add a test as well."}
}

func exampleFollowedUp() RunFollowupResponse {
	return RunFollowupResponse{FollowupID: ptr(exampleFollowupID), Outcome: "live_session"}
}

func exampleCancelRuns() CancelRunsRequest {
	return CancelRunsRequest{Filter: CancelFilter{RunFilter: RunFilter{State: []RunState{"QUEUED"}, Name: "build-doctor"}}}
}

func exampleEvents() ListRunEventsResponse {
	return ListRunEventsResponse{Events: []RunEvent{
		{
			ID: "01980f6e-5b7e-7000-8000-000000000001", Sequence: 1, Type: "state", Time: exampleCreatedAt,
			Data: json.RawMessage(`{"to":"QUEUED"}`),
		},
		{
			ID: "01980f6e-8c11-7000-8000-000000000002", Sequence: 2, ExecutionID: exampleExecutionID, Type: "message", Time: exampleStartedAt,
			Data: json.RawMessage(`{"role":"assistant","text":"I will look at the build log."}`),
		},
	}, PageInfo: PageInfo{HasNextPage: true, NextCursor: "2"}}
}

func exampleTimeline() TimelineResponse {
	return TimelineResponse{Events: []TimelineEvent{
		{
			EventUUID: "01980f6e-5b7e-7000-8000-000000000001", RunID: exampleRunID, EventType: "oz_run_created",
			OccurredAt: exampleCreatedAt, Payload: Object{"state": "QUEUED"},
		},
		{
			EventUUID: "01980f6e-8c12-7000-8000-000000000003", RunID: exampleRunID, EventType: "agent_started", OccurredAt: exampleStartedAt,
			ExecutionID: 1, Payload: Object{"state": "INPROGRESS", "from": "CLAIMED", "execution_id": exampleExecutionID},
		},
	}}
}

func exampleConversation() ConversationResponse {
	return ConversationResponse{ConversationID: exampleConversationID, Steps: []ConversationStep{{
		ID: "01980f6e-8c13-7000-8000-000000000004", Steps: []ConversationStep{}, StartedAt: exampleStartedAt, CompletedAt: exampleFinishedAt,
		Messages: []ConversationMessage{
			{Role: roleUser, Timestamp: exampleStartedAt, Content: []ConversationContent{
				{Type: blockText, Text: ptr("Find out why the nightly build fails.")},
			}},
			{Role: roleAssistant, Timestamp: exampleStartedAt, Content: []ConversationContent{
				{Type: blockAction, ID: "call-1", Category: "command", Name: "run_command", Input: RawObject(`{"command":"make lint"}`)},
			}},
			{Role: roleTool, Timestamp: exampleFinishedAt, Content: []ConversationContent{{
				Type: blockResult, ActionID: "call-1", Category: "command", Name: "run_command", State: "failed",
				Output: RawObject(`{"exit_code":1,"stdout":"lint: 1 problem\n"}`),
			}}},
		},
	}}}
}

func exampleArtifact() ArtifactResponse {
	return ArtifactResponse{
		ArtifactUID: exampleArtifactID, ArtifactType: "FILE", CreatedAt: exampleFinishedAt,
		Data: ArtifactResponseData{
			DownloadURL: exampleBase + downloadPath("c2lnbmVk"), ExpiresAt: "2026-08-01T09:47:31.250000Z", ContentType: "text/markdown",
			FileName: "report.md", FilePath: "report.md", SizeBytes: ptr(int64(512)),
		},
	}
}

func exampleAttachments() HandoffAttachmentsResponse {
	return HandoffAttachmentsResponse{Attachments: []HandoffAttachment{{
		AttachmentID: "01980f6e-5b80-7000-8000-00000000000a", DownloadURL: exampleBase + downloadPath("c2lnbmVk"),
		FileName: "build.log", MimeType: "text/plain",
	}}}
}

func exampleModels() ListModelsResponse {
	return ListModelsResponse{
		DefaultModelID: "sonnet",
		Models:         []ModelInfo{{ID: "sonnet", DisplayName: "Sonnet", Provider: "ANTHROPIC", VisionSupported: true}},
		Harnesses:      []HarnessInfo{{Type: "shell", Available: true}, {Type: "codex", Problem: "codex is not installed on this machine"}},
	}
}

func exampleSkills() ListAgentsResponse {
	return ListAgentsResponse{Agents: []AgentListItem{{Name: "triage", Variants: []AgentVariant{{
		ID: "acme/tools:.agents/skills/triage/SKILL.md", Description: "Sorts new issues.", BasePrompt: "Read issue $0 and label it.",
		Source:       AgentVariantSource{Owner: "acme", Name: "tools", SkillPath: ".agents/skills/triage/SKILL.md", Commit: "5f2c9b1e7d3a4c6f8e0b2d4a6c8e0f1a3b5d7c9e"},
		Environments: []VariantEnvironment{{UID: "q3Zt9sLk2vXw7mBn4pRd1c", Name: "tools"}},
	}}}}}
}

func exampleWorkers() ListWorkersResponse {
	return ListWorkersResponse{Workers: []ConnectedSelfHostedWorker{{
		WorkerHost: "build-farm", ConnectionCount: 2, ConnectedAt: exampleCreatedAt, LastSeenAt: exampleFinishedAt, Capacity: 16, Load: 3, Labels: []string{"os=linux"},
	}}}
}

func exampleWhoami() WhoamiResponse {
	return WhoamiResponse{
		Principal: exampleUser(), Role: "member", Permissions: []string{"whoami", "runs:read", "runs:start"}, KeyID: exampleKeyID,
		Limits: KeyLimits{RequestsPerMinute: 600},
	}
}

func exampleAPIKeyRequest() CreateAPIKeyRequest {
	return CreateAPIKeyRequest{Name: "ci", Role: "member"}
}

func exampleAPIKey() APIKey {
	return APIKey{
		ID: exampleKeyID, Name: "ci", Role: "member", Hint: "…k3Qp", CreatedAt: exampleCreatedAt,
		Owner: RunCreatorInfo{Type: "service_account", UID: "sa-ci", DisplayName: "ci"},
	}
}

func exampleCreatedAPIKey() CreatedAPIKey {
	return CreatedAPIKey{APIKey: exampleAPIKey(), Key: "ls_EXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE"}
}

func exampleAPIKeys() ListAPIKeysResponse {
	return ListAPIKeysResponse{APIKeys: []APIKey{exampleAPIKey()}}
}

func exampleAudit() ListAuditResponse {
	return ListAuditResponse{Entries: []AuditEntry{{
		ID: "01980f6e-5b7f-7000-8000-00000000000b", Time: exampleCreatedAt, Actor: exampleUser(), KeyID: exampleKeyID,
		Action: "run.create", TargetType: "run", TargetID: exampleRunID, RemoteAddr: "192.0.2.7", RequestID: "req-1",
	}}}
}

func exampleSecretRequest() CreateSecretRequest {
	return CreateSecretRequest{Name: "TRACKER_TOKEN", Value: "EXAMPLE-VALUE", Description: "Reads and writes tickets", Access: "runs"}
}

func exampleSecret() Secret {
	return Secret{
		Name: "TRACKER_TOKEN", Kind: "managed", Access: "runs", Description: "Reads and writes tickets",
		CreatedAt: exampleCreatedAt, UpdatedAt: exampleCreatedAt,
	}
}

func exampleSecrets() ListSecretsResponse {
	return ListSecretsResponse{Secrets: []Secret{exampleSecret()}}
}
