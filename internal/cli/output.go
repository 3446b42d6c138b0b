package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if sh.format == formatJSON {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	if sh.format != formatYAML {
		_, err := sh.out.Write(escapeJSON(text.Bytes()))
		return err
	}
	asYAML, err := safeYAML(text.Bytes())
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err = sh.out.Write(asYAML)
	return err
}

// listing is how a list command shows what it found.
type listing[T any] struct {
	// key is what programs find the list under.
	key string
	// none is said to people when the list is empty, instead of a table.
	none string
	head []string
	row  func(*T) []cell
}

// show prints what was found, or passes on why nothing was.
func (l listing[T]) show(sh *shell, list []T, err error) error {
	switch {
	case err != nil:
		return err
	case !sh.forPeople():
		return documents(sh, map[string]any{l.key: list}, list)
	case len(list) == 0 && l.none != "":
		fmt.Fprintln(sh.err, "-- "+l.none)
		return nil
	}
	rows := make([][]cell, len(list))
	for i := range list {
		rows[i] = l.row(&list[i])
	}
	sh.table(l.head, rows)
	return nil
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
