package api

import (
	"context"
	"fmt"
	"io"

	"github.com/lineshaft/lineshaft"
)

// maxPlanBytes bounds the text of a plan that is shown inside its answer.
const maxPlanBytes = 1 << 20

// ArtifactItem is an artifact in the list of a run.
type ArtifactItem struct {
	ArtifactType ArtifactType     `json:"artifact_type"`
	CreatedAt    string           `json:"created_at" format:"date-time"`
	Data         ArtifactItemData `json:"data"`
}

// ArtifactItemData is what a run's list shows of an artifact; which fields it has
// depends on the type.
type ArtifactItemData struct {
	ArtifactUID   string  `json:"artifact_uid,omitempty" doc:"Of PLAN, SCREENSHOT and FILE."`
	DocumentUID   string  `json:"document_uid,omitempty" doc:"Of PLAN."`
	URL           string  `json:"url,omitempty" doc:"Of PULL_REQUEST, PLAN and EXTERNAL_REFERENCE."`
	Branch        *string `json:"branch,omitempty" doc:"Of PULL_REQUEST; empty when it is not known."`
	Status        string  `json:"status,omitempty" enum:"open,draft,merged,closed,unknown" doc:"Of PULL_REQUEST."`
	ReferenceType string  `json:"reference_type,omitempty" doc:"Of EXTERNAL_REFERENCE."`
	FilePath      string  `json:"filepath,omitempty" doc:"Of FILE."`
	FileName      string  `json:"filename,omitempty" doc:"Of FILE."`
	MimeType      string  `json:"mime_type,omitempty" doc:"Of FILE and SCREENSHOT."`
	Title         string  `json:"title,omitempty"`
	Description   string  `json:"description,omitempty"`
	SizeBytes     *int64  `json:"size_bytes,omitempty" doc:"Of FILE."`
}

// ArtifactResponse is one artifact with the way to its content.
type ArtifactResponse struct {
	ArtifactUID  string               `json:"artifact_uid"`
	ArtifactType ArtifactType         `json:"artifact_type"`
	CreatedAt    string               `json:"created_at" format:"date-time"`
	Data         ArtifactResponseData `json:"data"`
}

// ArtifactResponseData is the content of a plan, or where to download the rest.
type ArtifactResponseData struct {
	DownloadURL string  `json:"download_url,omitempty" format:"uri" doc:"Of FILE and SCREENSHOT; needs no key, and no longer works after expires_at."`
	ExpiresAt   string  `json:"expires_at,omitempty" format:"date-time"`
	ContentType string  `json:"content_type"`
	FileName    string  `json:"filename,omitempty"`
	FilePath    string  `json:"filepath,omitempty"`
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description,omitempty"`
	SizeBytes   *int64  `json:"size_bytes,omitempty"`
	DocumentUID string  `json:"document_uid,omitempty" doc:"Of PLAN."`
	NotebookUID string  `json:"notebook_uid,omitempty" doc:"Of PLAN."`
	Content     *string `json:"content,omitempty" doc:"Of PLAN, in Markdown."`
	URL         string  `json:"url,omitempty"`
}

func wireArtifact(a *lineshaft.Artifact) ArtifactItem {
	data := ArtifactItemData{Title: a.Title, Description: a.Description}
	switch a.Type {
	case lineshaft.ArtifactPullRequest:
		data = ArtifactItemData{URL: a.URL, Branch: &a.Branch, Status: "unknown"}
	case lineshaft.ArtifactReference:
		data.URL, data.ReferenceType, data.Description = a.URL, "url", ""
	case lineshaft.ArtifactPlan:
		data = ArtifactItemData{ArtifactUID: a.UID, DocumentUID: a.UID, URL: a.URL, Title: a.Title}
	case lineshaft.ArtifactScreenshot:
		data = ArtifactItemData{ArtifactUID: a.UID, MimeType: a.MimeType, Description: a.Description}
	case lineshaft.ArtifactFile:
		data.ArtifactUID, data.FilePath, data.FileName, data.MimeType = a.UID, a.FilePath, a.FileName, a.MimeType
		data.SizeBytes = &a.SizeBytes
	}
	return ArtifactItem{ArtifactType: ArtifactType(a.Type), CreatedAt: stamp(a.CreatedAt), Data: data}
}

// ArtifactPath names an artifact.
type ArtifactPath struct {
	ArtifactUID string `path:"artifactUid" doc:"The uid of an artifact."`
}

func (s *server) getArtifact(ctx context.Context, in *ArtifactPath) (*answer[ArtifactResponse], error) {
	a, err := s.storedArtifact(ctx, in.ArtifactUID)
	if err != nil {
		return nil, err
	}
	data := ArtifactResponseData{
		ContentType: a.MimeType, FileName: a.FileName, FilePath: a.FilePath, Title: a.Title,
		Description: a.Description, SizeBytes: &a.SizeBytes,
	}
	if a.Type == lineshaft.ArtifactPlan {
		text, err := s.planText(ctx, a)
		if err != nil {
			return nil, err
		}
		data = ArtifactResponseData{
			ContentType: a.MimeType, DocumentUID: a.UID, NotebookUID: a.UID, Content: &text, Title: a.Title, URL: a.URL,
		}
	} else {
		token, expires := s.Control.SignDownload(kindArtifact, a.UID, downloadTTL)
		data.DownloadURL, data.ExpiresAt = s.BaseURL+downloadPath(token), stamp(expires)
	}
	return reply(ArtifactResponse{ArtifactUID: a.UID, ArtifactType: ArtifactType(a.Type), CreatedAt: stamp(a.CreatedAt), Data: data}, nil)
}

// storedArtifact finds an artifact that has content; the others are only links
// and have no page of their own.
func (s *server) storedArtifact(ctx context.Context, uid string) (*lineshaft.Artifact, error) {
	a, err := s.Control.Artifact(ctx, callerOf(ctx), uid)
	if err != nil {
		return nil, err
	}
	if a.BlobID == "" {
		return nil, lineshaft.NotFound("artifact with content", uid)
	}
	return a, nil
}

func (s *server) planText(ctx context.Context, a *lineshaft.Artifact) (string, error) {
	blob, err := s.Control.OpenBlob(ctx, a.BlobID)
	if err != nil {
		return "", err
	}
	defer func() { _ = blob.Close() }()
	text, err := io.ReadAll(io.LimitReader(blob, maxPlanBytes))
	if err != nil {
		return "", fmt.Errorf("read plan %s: %w", a.UID, err)
	}
	return string(text), nil
}

type screenshotInput struct {
	ConversationPath
	ArtifactPath
}

func (s *server) downloadScreenshot(ctx context.Context, in *screenshotInput) (*redirectOutput, error) {
	return s.downloadArtifact(ctx, &in.ArtifactPath)
}

func (s *server) downloadArtifact(ctx context.Context, in *ArtifactPath) (*redirectOutput, error) {
	a, err := s.storedArtifact(ctx, in.ArtifactUID)
	if err != nil {
		return nil, err
	}
	return s.redirect(kindArtifact, a.UID), nil
}

// HandoffAttachment is a file that came with a run.
type HandoffAttachment struct {
	AttachmentID string `json:"attachment_id"`
	DownloadURL  string `json:"download_url" format:"uri" doc:"Needs no key; works for a quarter of an hour."`
	FileName     string `json:"filename"`
	MimeType     string `json:"mime_type,omitempty"`
}

// HandoffAttachmentsResponse lists the files that came with a run.
type HandoffAttachmentsResponse struct {
	Attachments []HandoffAttachment `json:"attachments"`
}

func (s *server) listAttachments(ctx context.Context, in *RunPath) (*answer[HandoffAttachmentsResponse], error) {
	list, err := s.Control.Attachments(ctx, callerOf(ctx), in.RunID)
	return reply(HandoffAttachmentsResponse{each(list, func(a *lineshaft.Attachment) HandoffAttachment {
		token, _ := s.Control.SignDownload(kindAttachment, in.RunID+"/"+a.ID, downloadTTL)
		return HandoffAttachment{AttachmentID: a.ID, DownloadURL: s.BaseURL + downloadPath(token), FileName: a.FileName, MimeType: a.MimeType}
	})}, err)
}
