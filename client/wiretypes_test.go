package client

import "reflect"

// wireType is a struct with the schema that it follows.
type wireType struct {
	typ    reflect.Type
	schema string
	// left are the properties that the struct does not have, on purpose.
	left []string
}

func wire[T any](schema string, left ...string) wireType {
	return wireType{reflect.TypeFor[T](), schema, left}
}

// withoutSchema lists the structs that the document does not describe: what is in the
// data of events, and parts that have no properties of their own there.
func withoutSchema() []string {
	return []string{
		"StateData", "MessageData", "ToolCallData", "ToolResultData", "OutputData", "UsageData", "NoticeData",
		"ArtifactEventData", "PlanData", "PermissionData", "PermissionOption", "TriggerSchedule", "Choice",
		"TriggerFilter", // its keys are those of the server's catalogue, which may grow
	}
}

// wireTypes pairs every struct of the wire with its schema. What the server does not
// offer is left out everywhere; what else is, stands in the row.
var wireTypes = map[string]wireType{
	"AgentConfig":              wire[AgentConfig]("AmbientAgentConfig", "credential_strategy"), // only one value is offered
	"MCPServer":                wire[MCPServer]("MCPServerConfig", "name"),                     // the key of the map is the name
	"Harness":                  wire[Harness]("Harness"),
	"SecretRef":                wire[SecretRef]("SecretRef"),
	"Budget":                   wire[Budget]("Budget"),
	"Retry":                    wire[Retry]("Retry"),
	"Concurrency":              wire[Concurrency]("Concurrency"),
	"Agent":                    wire[Agent]("AgentResponse", "memory"),                                                    // always off
	"AgentRequest":             wire[AgentRequest]("CreateAgentRequest", "base_harness", "credential_strategy", "memory"), // an older word, and what can only be said in one way
	"AgentUpdate":              wire[AgentUpdate]("UpdateAgentRequest", "base_harness", "credential_strategy", "memory"),  // as in a request
	"APIKeyRequest":            wire[APIKeyRequest]("CreateAPIKeyRequest"),
	"APIKey":                   wire[APIKey]("CreatedAPIKey"),
	"ArtifactDetail":           wire[ArtifactDetail]("ArtifactResponse"),
	"ArtifactDetailData":       wire[ArtifactDetailData]("ArtifactResponseData"),
	"Automation":               wire[Automation]("Automation"),
	"TriggerEvent":             wire[TriggerEvent]("TriggerEvent"),
	"FilterFieldSpec":          wire[FilterFieldSpec]("FilterFieldSpec"),
	"RunRerun":                 wire[RunRerun]("RunRerun"),
	"HarnessAuth":              wire[HarnessAuth]("HarnessAuth"),
	"Trigger":                  wire[Trigger]("Trigger"),
	"AutomationRequest":        wire[AutomationRequest]("CreateAutomationRequest"),
	"AutomationUpdate":         wire[AutomationUpdate]("UpdateAutomationRequest"),
	"AutomationPage":           wire[AutomationPage]("ListAutomationsResponse"),
	"Conversation":             wire[Conversation]("ConversationResponse"),
	"ConversationStep":         wire[ConversationStep]("ConversationStep"),
	"ConversationMessage":      wire[ConversationMessage]("ConversationMessage"),
	"ConversationContent":      wire[ConversationContent]("ConversationContent"),
	"ConversationFollowup":     wire[ConversationFollowup]("ConversationFollowupResponse"),
	"RunReference":             wire[RunReference]("RunReference"),
	"FileProblem":              wire[FileProblem]("FileProblem"),
	"DefinitionValidation":     wire[DefinitionValidation]("ValidateDefinitionResponse"),
	"DefinitionChange":         wire[DefinitionChange]("DefinitionChange"),
	"DefinitionFieldChange":    wire[DefinitionFieldChange]("DefinitionFieldChange"),
	"DefinitionBacktest":       wire[DefinitionBacktest]("DefinitionBacktest"),
	"DefinitionPlan":           wire[DefinitionPlan]("PlanDefinitionResponse", "problems"), // always empty: mistakes are an error
	"DefinitionRequest":        wire[DefinitionRequest]("ApplyDefinitionRequest"),
	"DefinitionApplied":        wire[DefinitionApplied]("ApplyDefinitionResponse"),
	"Definition":               wire[Definition]("FactoryDefinition"),
	"DefinitionRevision":       wire[DefinitionRevision]("DefinitionRevisionDetail"),
	"RevisionPage":             wire[RevisionPage]("ListRevisionsResponse"),
	"Delivery":                 wire[Delivery]("DeliveryDetail"),
	"DeliveryOutcome":          wire[DeliveryOutcome]("DeliveryOutcome"),
	"MissedAutomation":         wire[MissedAutomation]("MissedAutomation"),
	"FilterCheck":              wire[FilterCheck]("MissedCheck"),
	"DeliveryPage":             wire[DeliveryPage]("ListDeliveriesResponse"),
	"Redelivered":              wire[Redelivered]("RedeliverResponse"),
	"FilterTest":               wire[FilterTest]("TestFilterRequest"),
	"FilterVerdict":            wire[FilterVerdict]("TestFilterResponse"),
	"EnvironmentConfig":        wire[EnvironmentConfig]("CloudEnvironmentConfig"),
	"Repository":               wire[Repository]("GithubRepo"),
	"Environment":              wire[Environment]("CloudEnvironment"),
	"EnvironmentRun":           wire[EnvironmentRun]("EnvironmentTask"),
	"Event":                    wire[Event]("RunEvent"),
	"EventPage":                wire[EventPage]("ListRunEventsResponse"),
	"Factory":                  wire[Factory]("Factory"),
	"Spending":                 wire[Spending]("Spending"),
	"FactoryRequest":           wire[FactoryRequest]("CreateFactoryRequest"),
	"FactoryUpdate":            wire[FactoryUpdate]("UpdateFactoryRequest"),
	"FactoryPage":              wire[FactoryPage]("ListFactoriesResponse"),
	"FactoryRunRequest":        wire[FactoryRunRequest]("FactoryRunRequest"),
	"FactoryRun":               wire[FactoryRun]("FactoryRunResponse"),
	"RunPage":                  wire[RunPage]("ListRunsResponse"),
	"RepositorySource":         wire[RepositorySource]("RepositorySource"),
	"FactoryRepository":        wire[FactoryRepository]("FactoryRepository"),
	"Run":                      wire[Run]("RunItem", "task_id"), // the same as run_id
	"StatusMessage":            wire[StatusMessage]("RunStatusMessage"),
	"Principal":                wire[Principal]("RunCreatorInfo"),
	"AgentSkill":               wire[AgentSkill]("AgentSkill"),
	"RunSchedule":              wire[RunSchedule]("RunSchedule"),
	"Artifact":                 wire[Artifact]("ArtifactItem"),
	"ArtifactData":             wire[ArtifactData]("ArtifactItemData"),
	"Usage":                    wire[Usage]("RequestUsage"),
	"ModelUsage":               wire[ModelUsage]("ModelTokenUsage"),
	"Scope":                    wire[Scope]("Scope"),
	"PageInfo":                 wire[PageInfo]("PageInfo"),
	"Timeline":                 wire[Timeline]("TimelineResponse"),
	"TimelineEvent":            wire[TimelineEvent]("TimelineEvent"),
	"RunAttachment":            wire[RunAttachment]("HandoffAttachment"),
	"RunReport":                wire[RunReport]("RunReportRequest"),
	"PlanStep":                 wire[PlanStep]("RunReportStep"),
	"RunReported":              wire[RunReported]("RunReportResponse"),
	"RunRequest":               wire[RunRequest]("RunAgentRequest", "mode", "team"), // only one value of each does anything
	"Attachment":               wire[Attachment]("AttachmentInput"),
	"RunStarted":               wire[RunStarted]("RunAgentResponse", "task_id"),     // the same as run_id
	"FollowupRequest":          wire[FollowupRequest]("RunFollowupRequest", "mode"), // only normal is offered
	"FollowupResult":           wire[FollowupResult]("RunFollowupResponse"),
	"Schedule":                 wire[Schedule]("ScheduledAgentItem"),
	"ScheduleHistory":          wire[ScheduleHistory]("ScheduleHistory"),
	"ScheduleRequest":          wire[ScheduleRequest]("CreateScheduledAgentRequest", "mode", "team"), // only one value of each does anything
	"ScheduleUpdate":           wire[ScheduleUpdate]("UpdateScheduledAgentRequest", "mode"),          // only normal is offered
	"Schemas":                  wire[Schemas]("SchemaDocuments"),
	"SecretRequest":            wire[SecretRequest]("CreateSecretRequest"),
	"SecretChange":             wire[SecretChange]("UpdateSecretRequest"),
	"Secret":                   wire[Secret]("Secret"),
	"Whoami":                   wire[Whoami]("WhoamiResponse"),
	"KeyLimits":                wire[KeyLimits]("KeyLimits"),
	"AuditEntry":               wire[AuditEntry]("AuditEntry"),
	"AuditPage":                wire[AuditPage]("ListAuditResponse"),
	"Models":                   wire[Models]("ListModelsResponse"),
	"HarnessInfo":              wire[HarnessInfo]("HarnessInfo"),
	"Model":                    wire[Model]("ModelInfo"),
	"Worker":                   wire[Worker]("ConnectedSelfHostedWorker"),
	"NamedSkills":              wire[NamedSkills]("AgentListItem"),
	"Skill":                    wire[Skill]("AgentVariant"),
	"SkillSource":              wire[SkillSource]("AgentVariantSource"),
	"SkillEnvironment":         wire[SkillEnvironment]("VariantEnvironment"),
	"Webhook":                  wire[Webhook]("IssuedWebhook"),
	"WebhookHMAC":              wire[WebhookHMAC]("WebhookHMAC"),
	"WebhookRequest":           wire[WebhookRequest]("CreateWebhookRequest"),
	"WebhookUpdate":            wire[WebhookUpdate]("UpdateWebhookRequest", "auth_mode", "name", "secret", "signature_scheme"), // refused by the server
	"WebhookRotation":          wire[WebhookRotation]("RotateWebhookRequest"),
	"Notification":             wire[Notification]("IssuedNotification"),
	"NotificationRequest":      wire[NotificationRequest]("CreateNotificationRequest"),
	"NotificationUpdate":       wire[NotificationUpdate]("UpdateNotificationRequest"),
	"NotificationRotation":     wire[NotificationRotation]("RotateNotificationRequest"),
	"NotificationDelivery":     wire[NotificationDelivery]("NotificationDeliveryDetail"),
	"NotificationAttempt":      wire[NotificationAttempt]("NotificationAttempt"),
	"NotificationDeliveryPage": wire[NotificationDeliveryPage]("ListNotificationDeliveriesResponse"),
}
