package definition

import (
	"regexp"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// The published codes of problems.
const (
	CodeMissingFactory       = "FF_MISSING_FACTORY"
	CodeUnsupportedVersion   = "FF_UNSUPPORTED_VERSION"
	CodeUnsupportedPath      = "FF_UNSUPPORTED_PATH"
	CodeDuplicatePath        = "FF_DUPLICATE_PATH"
	CodeInvalidDocument      = "FF_INVALID_DOCUMENT"
	CodeMalformedFrontMatter = "FF_MALFORMED_FRONTMATTER"
	CodeInvalidYAML          = "FF_INVALID_YAML"
	CodeDuplicateKey         = "FF_DUPLICATE_KEY"
	CodeAlias                = "FF_ALIAS"
	CodeTag                  = "FF_TAG"
	CodeUnknownField         = "FF_UNKNOWN_FIELD"
	CodeMissingRequired      = "FF_MISSING_REQUIRED"
	CodeTypeMismatch         = "FF_TYPE_MISMATCH"
	CodeInvalidValue         = "FF_INVALID_VALUE"
	CodeInvalidReference     = "FF_INVALID_REFERENCE"
	CodeInvalidMCP           = "FF_INVALID_MCP"
	CodeInvalidTrigger       = "FF_INVALID_TRIGGER"
	CodeInvalidEvent         = "FF_INVALID_EVENT"
	CodeInvalidFilter        = "FF_INVALID_FILTER"
)

var triggerPath = regexp.MustCompile(`^triggers\[[0-9]+\](\.[a-z]+)?`)

// codeOf is the code of a problem that was given none: messages begin with the path of
// what is wrong.
func codeOf(p lineshaft.FileProblem) string {
	if p.Code != "" {
		return p.Code
	}
	at := triggerPath.FindStringSubmatch(p.Message)
	switch {
	case at == nil && strings.HasPrefix(p.Message, "schemaVersion: "):
		return CodeUnsupportedVersion
	case at == nil && strings.Contains(strings.SplitN(p.Message, ": ", 2)[0], "mcpServers."):
		return CodeInvalidMCP
	case at == nil:
		return CodeInvalidValue
	case at[1] == ".filter":
		return CodeInvalidFilter
	case at[1] == ".event":
		return CodeInvalidEvent
	}
	return CodeInvalidTrigger
}

// finding is a problem that has just been added.
type finding struct{ problem *lineshaft.FileProblem }

// as gives it a code.
func (f finding) as(code string) { f.problem.Code = code }
