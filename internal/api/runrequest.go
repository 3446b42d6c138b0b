package api

import (
	"encoding/base64"
	"fmt"
	"mime"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
)

// RunAgentRequest asks for a run.
type RunAgentRequest struct {
	Prompt           string              `json:"prompt,omitempty" maxLength:"1048576" doc:"What to do, at most 1 MiB. Required unless a skill or conversation_id is given."`
	Mode             RunMode             `json:"mode,omitempty"`
	Skill            string              `json:"skill,omitempty" doc:"A skill, owner/repo:name or owner/repo:path; takes precedence over those in config. You may leave out the owner of a repository in the run's environment or factory."`
	Config           *AmbientAgentConfig `json:"config,omitempty"`
	Title            string              `json:"title,omitempty" maxLength:"200" doc:"Made from the prompt when absent."`
	Team             *bool               `json:"team,omitempty" doc:"Accepted; every run belongs to the team."`
	AgentIdentityUID string              `json:"agent_identity_uid,omitempty" doc:"An agent: the run takes its configuration and belongs to its factory."`
	OnBehalfOf       Unsupported         `json:"on_behalf_of,omitzero"`
	ConversationID   string              `json:"conversation_id,omitempty" doc:"Continues a conversation."`
	Attachments      []AttachmentInput   `json:"attachments,omitempty" maxItems:"5" doc:"Files for the workspace, at most 10 MB in total."`
	Images           Unsupported         `json:"images,omitzero"`
	ParentRunID      string              `json:"parent_run_id,omitempty"`
	Interactive      *bool               `json:"interactive,omitempty" doc:"Accepted; it changes nothing: every run takes follow-ups while it works."`
	Metadata         Metadata            `json:"metadata,omitempty"`
}

// RunMode is how an agent goes about its work.
type RunMode string

// Schema implements huma.SchemaProvider.
func (RunMode) Schema(huma.Registry) *huma.Schema {
	least := 1
	return &huma.Schema{
		Type: huma.TypeString, Description: "Only normal is supported; plan and orchestrate get 422.", MinLength: &least, Extensions: map[string]any{"enum": []string{"normal"}},
	}
}

// check refuses the modes of the published API that this server does not offer, and all
// unknown ones.
func (m RunMode) check() error {
	switch m {
	case "", "normal":
		return nil
	case "plan", "orchestrate":
		return notOffered("mode")
	}
	return lineshaft.Invalid("mode", "expected normal, plan or orchestrate")
}

// AttachmentInput is a file that comes with a run.
type AttachmentInput struct {
	FileName string `json:"file_name" doc:"Its name in the workspace; no slashes."`
	MimeType string `json:"mime_type"`
	Data     string `json:"data" doc:"Base64, padded, without line breaks."`
}

// FollowupAttachmentInput is a file that comes with a follow-up. The published clients
// name an upload that was prepared before; this server expects the file.
type FollowupAttachmentInput struct {
	FileName     string      `json:"file_name,omitempty" doc:"Its name in the workspace; no slashes. Required."`
	MimeType     string      `json:"mime_type,omitempty" doc:"Required."`
	Data         string      `json:"data,omitempty" doc:"Base64, padded, without line breaks. Required."`
	AttachmentID Unsupported `json:"attachment_id,omitzero"`
}

// RunAgentResponse answers a request for a run.
type RunAgentResponse struct {
	RunID      string   `json:"run_id"`
	TaskID     string   `json:"task_id" deprecated:"true" doc:"The same as run_id."`
	State      RunState `json:"state"`
	AtCapacity bool     `json:"at_capacity" doc:"No worker slot was free; the run waits for one."`
}

// RunFollowupRequest is a message for a run that exists.
type RunFollowupRequest struct {
	Message     string                    `json:"message,omitempty" maxLength:"1048576" doc:"The message to the agent. May be empty when there is an attachment."`
	Mode        RunMode                   `json:"mode,omitempty"`
	Attachments []FollowupAttachmentInput `json:"attachments,omitempty" maxItems:"5"`
}

// RunFollowupResponse says how the message will reach the agent.
type RunFollowupResponse struct {
	FollowupID *string `json:"followup_id" doc:"Null when the message became part of the prompt."`
	Outcome    string  `json:"outcome" enum:"queued_prompt,live_session,handoff_execution,queue_pending"`
}

// ConversationFollowupResponse also names the run that took the message.
type ConversationFollowupResponse struct {
	RunFollowupResponse
	RunID string `json:"run_id"`
}

// domain turns the request into the domain's and checks it.
func (r *RunAgentRequest) domain(source lineshaft.Source) (lineshaft.NewRun, error) {
	if err := r.unsupported(); err != nil {
		return lineshaft.NewRun{}, err
	}
	config, err := r.Config.domain()
	if err != nil {
		return lineshaft.NewRun{}, err
	}
	if r.Skill != "" {
		if _, err := lineshaft.ParseSkillRef(r.Skill); err != nil {
			return lineshaft.NewRun{}, lineshaft.Invalid("skill", "%s", publicText(err))
		}
		// What it overrides is not used, but must still be valid.
		if err := config.Validate(); err != nil {
			return lineshaft.NewRun{}, err
		}
		config.Skills = []string{r.Skill}
	}
	attachments, err := decodeAttachments(r.Attachments)
	if err != nil {
		return lineshaft.NewRun{}, err
	}
	run := lineshaft.NewRun{
		Prompt: r.Prompt, Title: r.Title, Config: config, Source: source, AgentUID: r.AgentIdentityUID, ConversationID: r.ConversationID,
		ParentRunID: r.ParentRunID, Metadata: r.Metadata, Attachments: attachments,
		Interactive: r.Interactive != nil && *r.Interactive,
	}
	return run, run.Validate()
}

func (r *RunAgentRequest) unsupported() error {
	switch {
	case r.OnBehalfOf.Set:
		return notOffered("on_behalf_of")
	case r.Images.Set:
		return notOffered("images")
	}
	return r.Mode.check()
}

// domain turns the request into the domain's and checks it.
func (r *RunFollowupRequest) domain(runID string) (lineshaft.NewFollowup, error) {
	if err := r.Mode.check(); err != nil {
		return lineshaft.NewFollowup{}, err
	}
	var files []AttachmentInput
	for i, a := range r.Attachments {
		if a.AttachmentID.Set {
			return lineshaft.NewFollowup{}, lineshaft.NotSupported(fmt.Sprintf("attachments[%d].attachment_id", i),
				"this server does not support prepared uploads; send file_name, mime_type and data")
		}
		files = append(files, AttachmentInput{a.FileName, a.MimeType, a.Data})
	}
	attachments, err := decodeAttachments(files)
	if err != nil {
		return lineshaft.NewFollowup{}, err
	}
	followup := lineshaft.NewFollowup{RunID: runID, Message: r.Message, Attachments: attachments}
	return followup, followup.Validate()
}

func decodeAttachments(list []AttachmentInput) ([]lineshaft.NewAttachment, error) {
	var out []lineshaft.NewAttachment
	for i, a := range list {
		path := fmt.Sprintf("attachments[%d]", i)
		if a.FileName == "" {
			return nil, lineshaft.Invalid(path+".file_name", "is required")
		}
		if _, _, err := mime.ParseMediaType(a.MimeType); err != nil || !strings.Contains(a.MimeType, "/") {
			return nil, lineshaft.Invalid(path+".mime_type", "must be a media type such as image/png")
		}
		// The decoder skips line breaks, which we do not take.
		data, err := base64.StdEncoding.Strict().DecodeString(a.Data)
		if err != nil || strings.ContainsAny(a.Data, "\r\n") {
			return nil, lineshaft.Invalid(path+".data", "must be base64 with padding and without line breaks")
		}
		out = append(out, lineshaft.NewAttachment{FileName: a.FileName, MimeType: a.MimeType, Data: data})
	}
	return out, nil
}
