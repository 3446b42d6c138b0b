package lineshaft_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestR2AttachmentNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"report.txt": true, "...": true, "a b": true, "ünïcode.md": true, strings.Repeat("x", 255): true, "-rf": true,
		"": false, ".": false, "..": false, "a/b": false, "/etc/passwd": false, "..\\x": false, "a\x00b": false, "a\nb": false, "a\rb": false,
		"bad\xff": false, strings.Repeat("x", 256): false,
	} {
		err := lineshaft.ValidateAttachments([]lineshaft.NewAttachment{{FileName: name}})
		if (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
		if err != nil {
			wantField(t, err, "attachments[0].file_name")
		}
	}
}

func TestR2AttachmentLimits(t *testing.T) {
	t.Parallel()
	file := func(name string, size int) lineshaft.NewAttachment {
		return lineshaft.NewAttachment{FileName: name, Data: make([]byte, size)}
	}
	for name, test := range map[string]struct {
		list  []lineshaft.NewAttachment
		field string
	}{
		"none":       {nil, ""},
		"five":       {[]lineshaft.NewAttachment{file("1", 0), file("2", 0), file("3", 0), file("4", 0), file("5", 0)}, ""},
		"six":        {[]lineshaft.NewAttachment{file("1", 0), file("2", 0), file("3", 0), file("4", 0), file("5", 0), file("6", 0)}, "attachments"},
		"full":       {[]lineshaft.NewAttachment{file("a", lineshaft.MaxAttachmentBytes-1), file("b", 1)}, ""},
		"too large":  {[]lineshaft.NewAttachment{file("a", lineshaft.MaxAttachmentBytes), file("b", 1)}, "attachments"},
		"same name":  {[]lineshaft.NewAttachment{file("a", 1), file("b", 1), file("a", 1)}, "attachments[2].file_name"},
		"bad second": {[]lineshaft.NewAttachment{file("a", 1), file("../b", 1)}, "attachments[1].file_name"},
		"bad type":   {[]lineshaft.NewAttachment{{FileName: "a", MimeType: "text/\x00"}}, "attachments[0].mime_type"},
	} {
		wantField(t, lineshaft.ValidateAttachments(test.list), test.field, name)
	}
}

func TestR11ArtifactTypesArePublished(t *testing.T) {
	t.Parallel()
	seen := map[lineshaft.ArtifactType]bool{}
	for _, kind := range lineshaft.ArtifactTypes() {
		if seen[kind] || kind == "" || strings.ToUpper(string(kind)) != string(kind) {
			t.Errorf("type %q", kind)
		}
		seen[kind] = true
	}
	if len(seen) != 5 || !seen[lineshaft.ArtifactFile] || !seen[lineshaft.ArtifactPullRequest] {
		t.Errorf("types are %v", seen)
	}
}
