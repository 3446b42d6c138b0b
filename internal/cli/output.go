package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// The forms of output.
const (
	formatTable  = "table"
	formatJSON   = "json"
	formatNDJSON = "ndjson"
	formatYAML   = "yaml"
)

func formats() []string { return []string{formatTable, formatJSON, formatNDJSON, formatYAML} }

func (sh *shell) checkFormat(cmd *cobra.Command) error {
	if slices.Contains(formats(), sh.format) {
		return nil
	}
	return usage(fmt.Sprintf("--output %q is none of %s", sh.format, strings.Join(formats(), ", ")), fmt.Sprintf("See `%s --help`.", cmd.CommandPath()))
}

// forPeople says that output is to be read by a person.
func (sh *shell) forPeople() bool { return sh.format == formatTable }

// document prints one value in the form that was asked for; not for tables.
func (sh *shell) document(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	text := raw
	switch sh.format {
	case formatYAML:
		if text, err = yaml.JSONToYAML(raw); err != nil {
			return fmt.Errorf("encode the output: %w", err)
		}
	case formatNDJSON:
		text = append(text, '\n')
	default:
		var indented bytes.Buffer
		if err := json.Indent(&indented, raw, "", "  "); err != nil {
			return fmt.Errorf("encode the output: %w", err)
		}
		text = append(indented.Bytes(), '\n')
	}
	_, err = sh.out.Write(text)
	return err
}

// documents prints a list: whole for json and yaml, a line each for ndjson.
func documents[T any](sh *shell, whole any, items []T) error {
	if sh.format != formatNDJSON {
		return sh.document(whole)
	}
	for _, item := range items {
		if err := sh.document(item); err != nil {
			return err
		}
	}
	return nil
}
