package shell

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

// The forms of output.
const (
	FormatTable  = "table"
	FormatJSON   = "json"
	FormatNDJSON = "ndjson"
	FormatYAML   = "yaml"
)

// Formats are the words that --output takes.
func Formats() []string { return []string{FormatTable, FormatJSON, FormatNDJSON, FormatYAML} }

// CheckFormat refuses another word.
func (sh *Shell) CheckFormat(cmd *cobra.Command) error {
	if slices.Contains(Formats(), sh.Format) {
		return nil
	}
	return Usage(fmt.Sprintf("--output %q is not one of %s", sh.Format, strings.Join(Formats(), ", ")),
		fmt.Sprintf("See `%s --help`.", cmd.CommandPath()))
}

// ForPeople says that output is to be read by a person.
func (sh *Shell) ForPeople() bool { return sh.Format == FormatTable }

// Show prints a value: as a document for programs, and for people as is said.
func (sh *Shell) Show(v any, people func()) error {
	if !sh.ForPeople() {
		return sh.Document(v)
	}
	people()
	return nil
}

// Made prints what was created: its id alone for people, so that a script can keep it.
func (sh *Shell) Made(v any, id string) error {
	return sh.Show(v, func() { fmt.Fprintln(sh.Out, OneLine(id)) })
}

// Shown continues with what a call answered, or passes on why there is nothing.
func Shown[T any](show func(T) error) func(T, error) error {
	return func(answer T, err error) error {
		if err != nil {
			return err
		}
		return show(answer)
	}
}

// Document prints one value in the form that was asked for; not for tables.
func (sh *Shell) Document(v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if sh.Format == FormatJSON {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	if sh.Format != FormatYAML {
		_, err := sh.Out.Write(escapeJSON(text.Bytes()))
		return err
	}
	asYAML, err := safeYAML(text.Bytes())
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err = sh.Out.Write(asYAML)
	return err
}

// Collect reads what goes through pages to its end.
func Collect[T any](all iter.Seq2[T, error]) ([]T, error) {
	list := []T{}
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

// PageFlags adds the flags of a list that comes in pages.
func PageFlags(cmd *cobra.Command, things string, limit *int, cursor *string, all *bool) {
	cmd.Flags().IntVar(limit, "limit", 20, "`NUMBER` of "+things+", 1 to 500")
	cmd.Flags().StringVar(cursor, "cursor", "", "continue an earlier list, at its `CURSOR`")
	cmd.Flags().BoolVar(all, "all", false, "all "+things+", not only the first ones")
}

// Listing is how a list command shows what it found.
type Listing[T any] struct {
	// Key is what programs find the list under; Whole is a document that has it already.
	Key   string
	Whole any
	// None is said to people when the list is empty, instead of a table.
	None string
	Head []string
	Row  func(*T) []Cell
	// Page says whether there are more.
	Page client.PageInfo
}

// Command is the list command of a noun.
func (l Listing[T]) Command(sh *Shell, short string, read func(ctx context.Context, c *client.Client) ([]T, error), examples ...string) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: short, Args: Needs(0, 0, ""), Example: Example(examples...),
		RunE: sh.WithClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			list, err := read(cmd.Context(), c)
			return l.Show(sh, list, err)
		}),
	}
}

// Show prints what was found, or passes on why nothing was.
func (l Listing[T]) Show(sh *Shell, list []T, err error) error {
	switch {
	case err != nil:
		return err
	case !sh.ForPeople() && l.Whole == nil:
		return Documents(sh, map[string]any{l.Key: list}, list)
	case !sh.ForPeople():
		return Documents(sh, l.Whole, list)
	case len(list) == 0 && l.None != "":
		fmt.Fprintln(sh.Err, "-- "+l.None)
		return nil
	}
	rows := make([][]Cell, len(list))
	for i := range list {
		rows[i] = l.Row(&list[i])
	}
	sh.Table(l.Head, rows)
	if l.Page.HasNextPage {
		fmt.Fprintf(sh.Err, "-- there are more: add --all, or --cursor %s\n", Clean(l.Page.NextCursor))
	}
	return nil
}

// Documents prints a list: whole for json and yaml, a line each for ndjson.
func Documents[T any](sh *Shell, whole any, items []T) error {
	if sh.Format != FormatNDJSON {
		return sh.Document(whole)
	}
	for _, item := range items {
		if err := sh.Document(item); err != nil {
			return err
		}
	}
	return nil
}

// OrDash is for cells that would be empty.
func OrDash(text string) string { return cmp.Or(text, "-") }

// WhenSet is When for a time that may not be set.
func (sh *Shell) WhenSet(at *time.Time) string {
	if at == nil {
		return ""
	}
	return sh.When(*at)
}

// Cell is one field of a table.
type Cell struct {
	Text  string
	Style Style
}

// Mark is put before the one of a list that is used when nothing else is said.
func Mark(on bool) string {
	if on {
		return "*"
	}
	return ""
}

// Styled is a field in a style.
func Styled(text string, style Style) Cell { return Cell{text, style} }

// Cells are the fields of a row: texts, and cells that have a style.
func Cells(values ...any) []Cell {
	row := make([]Cell, len(values))
	for i, value := range values {
		styled, ok := value.(Cell)
		if !ok {
			styled.Text = fmt.Sprint(value)
		}
		row[i] = Cell{OneLine(styled.Text), styled.Style}
	}
	return row
}

// Table prints rows under their heads. The last column is cut at the edge of a
// terminal; elsewhere nothing is.
func (sh *Shell) Table(heads []string, rows [][]Cell) {
	widths := make([]int, len(heads))
	for i, head := range heads {
		widths[i] = utf8.RuneCountInString(head)
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].Text))
		}
	}
	var head []Cell
	for _, h := range heads {
		head = append(head, Cell{h, StyleBold})
	}
	for _, row := range append([][]Cell{head}, rows...) {
		sh.row(row, widths)
	}
}

func (sh *Shell) row(row []Cell, widths []int) {
	var line strings.Builder
	used, last := 0, len(row)-1
	for i, c := range row {
		text := c.Text
		if i == last {
			if sh.OutWidth > 0 {
				text = Clip(text, max(sh.OutWidth-used, 10))
			}
			line.WriteString(sh.Paint(sh.OutWidth, c.Style, text))
			break
		}
		line.WriteString(sh.Paint(sh.OutWidth, c.Style, text))
		line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2))
		used += widths[i] + 2
	}
	fmt.Fprintln(sh.Out, strings.TrimRight(line.String(), " "))
}

// Pairs prints names and values in lines; empty values are left out. Styled are the
// names of those that have a style.
func (sh *Shell) Pairs(list [][2]string, styled ...Cell) {
	width := 0
	for _, p := range list {
		if OneLine(p[1]) != "" {
			width = max(width, utf8.RuneCountInString(p[0]))
		}
	}
	styles := map[string]Style{}
	for _, look := range styled {
		styles[look.Text] = look.Style
	}
	for _, p := range list {
		if value := OneLine(p[1]); value != "" {
			name := sh.Paint(sh.OutWidth, StyleDim, fmt.Sprintf("%-*s", width, p[0]))
			fmt.Fprintf(sh.Out, "%s  %s\n", name, sh.Paint(sh.OutWidth, styles[p[0]], value))
		}
	}
}

// When shows a time: its age on a terminal, in full elsewhere.
func (sh *Shell) When(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	if sh.OutWidth == 0 {
		return at.UTC().Format(time.RFC3339)
	}
	return Age(sh.Now().Sub(at))
}

// Age is how long ago something was, or how far ahead it is, in one unit.
func Age(d time.Duration) string {
	ahead := d < 0
	d = d.Abs()
	text := "now"
	switch {
	case d >= 48*time.Hour:
		text = fmt.Sprintf("%dd", int(d.Hours()/24))
	case d >= time.Hour:
		text = fmt.Sprintf("%dh", int(d.Hours()))
	case d >= time.Minute:
		text = fmt.Sprintf("%dm", int(d.Minutes()))
	case d >= time.Second:
		text = fmt.Sprintf("%ds", int(d.Seconds()))
	}
	switch {
	case text == "now":
		return text
	case ahead:
		return "in " + text
	}
	return text + " ago"
}

// Count is a number of things: 1 run, 2 runs.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// ConfigPairs are what a configuration says, for Pairs.
func ConfigPairs(cfg *client.AgentConfig) [][2]string {
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
		{"Name", cfg.Name},
		{"Model", cfg.ModelID},
		{"Harness", harness},
		{"Worker", cfg.WorkerHost},
		{"Environment", cfg.EnvironmentID},
		{"Skills", strings.Join(skills, ", ")},
		{"Tools", strings.Join(tools, ", ")},
		{"Secrets", strings.Join(secrets, ", ")},
	}
}

// Who is the name of a principal, or else its uid.
func Who(p *client.Principal) string {
	if p == nil {
		return ""
	}
	return OneLine(cmp.Or(p.DisplayName, p.UID))
}

// Each does one thing to several ids, says how each went, and fails if one did. The end
// only counts what failed where the failures have been reported one by one.
func (sh *Shell) Each(ctx context.Context, ids []string, done string, do func(context.Context, string) error) error {
	type outcome struct {
		ID     string `json:"id"`
		Result string `json:"result"`
	}
	outcomes := []outcome{}
	var failed []error
	for _, id := range ids {
		if err := do(ctx, id); err != nil {
			failed = append(failed, err)
			if len(ids) > 1 {
				fmt.Fprintf(sh.Err, "%s: %s\n", Clean(id), Clean(sh.Explain(err).Message))
			}
			continue
		}
		outcomes = append(outcomes, outcome{id, done})
		if sh.ForPeople() {
			fmt.Fprintf(sh.Out, "%s %s\n", done, Clean(id))
		}
	}
	if !sh.ForPeople() {
		if err := Documents(sh, outcomes, outcomes); err != nil {
			return err
		}
	}
	if len(ids) == 1 || len(failed) == 0 {
		return errors.Join(failed...)
	}
	were := "were"
	if len(failed) == 1 {
		were = "was"
	}
	out := &HintError{Code: sh.Explain(failed[0]).Code, Cause: errors.Join(failed...), Message: fmt.Sprintf("%d of %d %s not %s", len(failed), len(ids), were, done)}
	var hints []string
	for _, err := range failed {
		if hint := sh.Explain(err).Hint; hint != "" && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	out.Hint = strings.Join(hints, "\n")
	return out
}
