package lineshaft

import (
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// ArtifactType is the kind of thing an agent left behind.
type ArtifactType string

// The published artifact types.
const (
	ArtifactPlan        ArtifactType = "PLAN"
	ArtifactPullRequest ArtifactType = "PULL_REQUEST"
	ArtifactScreenshot  ArtifactType = "SCREENSHOT"
	ArtifactFile        ArtifactType = "FILE"
	ArtifactReference   ArtifactType = "EXTERNAL_REFERENCE"
)

// ArtifactTypes lists the published types.
func ArtifactTypes() []ArtifactType {
	return []ArtifactType{ArtifactPlan, ArtifactPullRequest, ArtifactScreenshot, ArtifactFile, ArtifactReference}
}

// MaxArtifactBytes is the size of the largest FILE artifact.
const MaxArtifactBytes = 100 << 20

// Artifact is something a run produced.
type Artifact struct {
	UID         string
	RunID       string
	Type        ArtifactType
	CreatedAt   time.Time
	BlobID      string
	FileName    string
	FilePath    string
	MimeType    string
	SizeBytes   int64
	URL         string
	Branch      string
	Title       string
	Description string
}

// PrivateFolder is where the platform keeps its own files in a workspace.
const PrivateFolder = ".lineshaft"

// NewAttachment is a file that comes with a run or a follow-up.
type NewAttachment struct {
	FileName string
	MimeType string
	Data     []byte
}

// Attachment is a stored one; it lands in the workspace under its name.
type Attachment struct {
	ID       string `json:"id"`
	FileName string `json:"file_name"`
	MimeType string `json:"mime_type,omitempty"`
	Size     int64  `json:"size"`
	BlobID   string `json:"blob_id"`
}

// ValidateAttachments checks number, names and total size.
func ValidateAttachments(list []NewAttachment) error {
	if len(list) > MaxAttachments {
		return Invalid("attachments", "%d attachments; at most %d are allowed", len(list), MaxAttachments)
	}
	total, seen := 0, map[string]bool{}
	for i, a := range list {
		field := fmt.Sprintf("attachments[%d].file_name", i)
		if !validFileName(a.FileName) {
			return Invalid(field, "%q must be a plain file name of at most 255 bytes without slashes", Clip(a.FileName, 80))
		}
		if err := checkText(fmt.Sprintf("attachments[%d].mime_type", i), a.MimeType); err != nil {
			return err
		}
		if seen[a.FileName] {
			return Invalid(field, "%q appears twice", a.FileName)
		}
		seen[a.FileName] = true
		total += len(a.Data)
	}
	if total > MaxAttachmentBytes {
		return Invalid("attachments", "%d bytes in total; at most %d are allowed", total, MaxAttachmentBytes)
	}
	return nil
}

func validFileName(name string) bool {
	if name == "" || len(name) > 255 || !utf8.ValidString(name) || strings.ContainsAny(name, "/\\\x00\n\r") {
		return false
	}
	return name != "." && name != ".." && name != PrivateFolder && path.Base(name) == name
}
