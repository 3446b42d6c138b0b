package page

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// Option is something to choose in a form.
type Option struct{ Value, Name string }

// SortHead is the head of a column that a list can be sorted by.
type SortHead struct {
	Name, Href string
	// Order is ascending or descending if the list is sorted by it.
	Order string
}

// Options are what can be chosen, in the order of their names.
func Options(names map[string]string) []Option {
	list := make([]Option, 0, len(names))
	for value, name := range names {
		list = append(list, Option{value, name})
	}
	SortOptions(list)
	return list
}

// SortOptions puts options into the order of their names.
func SortOptions(list []Option) {
	slices.SortFunc(list, func(a, b Option) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Value, b.Value))
	})
}

// WithChosen are the options and the chosen one, under a name, if it is no longer among them.
func WithChosen(list []Option, chosen, name string) []Option {
	if chosen == "" || slices.ContainsFunc(list, func(o Option) bool { return o.Value == chosen }) {
		return list
	}
	return append(slices.Clone(list), Option{chosen, name})
}

// MaxOptions bounds what a form lets one choose from; more can be written into the address.
const MaxOptions = 200

// FactoryNames are the names of factories by their uids.
func (s *Site) FactoryNames(ctx context.Context, c lineshaft.Caller) (map[string]string, error) {
	found, err := s.Control.ListFactories(ctx, c, factories.FactoryQuery{Limit: MaxOptions})
	names := map[string]string{}
	for _, f := range found.Factories {
		names[f.UID] = f.Name
	}
	return names, err
}

// EnvironmentOptions are the environments by name.
func (s *Site) EnvironmentOptions(r *Request) ([]Option, error) {
	found, err := s.Control.ListEnvironments(r.Context(), r.Caller, secrets.EnvironmentsByName)
	list := make([]Option, len(found))
	for i, e := range found {
		list[i] = Option{e.UID, e.Config.Name}
	}
	return list, err
}

// PartOptions are the agents, automations or webhooks, with the names of their factories before theirs.
func (s *Site) PartOptions(r *Request, noun string, factories map[string]string) ([]Option, error) {
	found, err := s.Control.ListPartNames(r.Context(), r.Caller, noun)
	list := make([]Option, len(found))
	for i, a := range found {
		list[i] = Option{a.UID, a.Name}
		if factory := factories[a.Factory]; factory != "" {
			list[i].Name = factory + " / " + a.Name
		}
	}
	return list, err
}

// Suggestions are offered while one types the name of a worker or a model.
type Suggestions struct{ Workers, Models []string }

// Suggestions are what this server knows, and the reader may know.
func (s *Site) Suggestions(r *Request) Suggestions {
	offered := Suggestions{Workers: []string{lineshaft.HostedWorker}}
	if s.Standard != nil {
		offered.Models = s.Standard().Models
	}
	if !r.Caller.Role.May(lineshaft.PermissionServerRead) {
		return offered
	}
	workers, err := s.Control.Workers(r.Context(), r.Caller)
	if err != nil {
		return offered // the form works without
	}
	for _, w := range workers {
		if !slices.Contains(offered.Workers, w.WorkerHost) {
			offered.Workers = append(offered.Workers, w.WorkerHost)
		}
	}
	return offered
}

// SecretNames are offered while one types, to readers who may know them.
func (s *Site) SecretNames(r *Request) []string {
	if !r.Caller.Role.May(lineshaft.PermissionSecrets) || len(r.Caller.FactoryUIDs) > 0 {
		return nil
	}
	found, err := s.Control.ListSecrets(r.Context(), r.Caller, lineshaft.SecretManaged, MaxOptions, "")
	if err != nil {
		return nil // the form works without
	}
	var names []string
	for _, secret := range found.Items {
		names = append(names, secret.Name)
	}
	return names
}

// Named are names instead of uids, as far as they are known.
func Named(uids []string, names map[string]string) []string {
	list := make([]string, len(uids))
	for i, uid := range uids {
		list[i] = cmp.Or(names[uid], uid)
	}
	return list
}

// recentRuns is how many runs a page of something shows that they belong to.
const recentRuns = 10

// RecentRuns are the newest runs that a filter selects.
func (s *Site) RecentRuns(ctx context.Context, c lineshaft.Caller, f lineshaft.RunFilter) ([]lineshaft.Run, error) {
	found, err := s.Control.ListRuns(ctx, c, lineshaft.RunQuery{Filter: f, Sort: lineshaft.SortCreated, Limit: recentRuns})
	return found.Runs, err
}

// Text is what was typed into a field, without the blanks around it.
func (r *Request) Text(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }

// FormText undoes what browsers do to the line ends of a text.
func FormText(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// NonEmptyLines is never nil: an empty list removes the old one.
func NonEmptyLines(text string) []string {
	lines := []string{}
	for line := range strings.SplitSeq(FormText(text), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Words are separated by commas and blanks.
func Words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \n\r\t", r) })
}

// OptionalNumber reads a field that may be left empty.
func OptionalNumber(field, text string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, lineshaft.Invalid(field, "write a whole number, or leave it empty")
	}
	return &n, nil
}

// Field is a row of a form: how a value is asked for, and where what is typed goes.
type Field struct {
	// Name is that of the field; Blame is what errors call it besides.
	Name, Blame string
	Label       string
	Placeholder string
	Hint        template.HTML
	// Code is for what programs read, Numeric for digits.
	Code, Numeric bool
	// List is the id of a datalist with what is offered while one types.
	List string
	// Most is how many characters fit, Rows how many lines a text has.
	Most, Rows int
	// Options are what can be chosen, and None is the name of choosing nothing.
	Options []Option
	None    string
	// Gone is said of a value that is no longer among the options.
	Gone string
	// Newer is for a field that pages of an earlier version do not have: their forms leave it as it is.
	Newer bool
	// Value is what is in the field.
	Value string
	// Into is a *string, an *int or an **int that is nil when the field is empty, or a
	// *[]string of words.
	Into any
}

// ShowFields puts what is stored into fields.
func ShowFields(fields []Field) []Field {
	for i := range fields {
		switch from := fields[i].Into.(type) {
		case *string:
			fields[i].Value = *from
		case *int:
			if *from != 0 {
				fields[i].Value = strconv.Itoa(*from)
			}
		case **int:
			if *from != nil {
				fields[i].Value = strconv.Itoa(**from)
			}
		case *[]string:
			fields[i].Value = strings.Join(*from, " ")
		}
		fields[i].keepChosen()
	}
	return fields
}

func (f *Field) keepChosen() {
	if f.Options != nil {
		f.Options = WithChosen(f.Options, f.Value, f.Value+f.Gone)
	}
}

// ReadFields takes what was typed into fields, and complains about what cannot be read.
func (r *Request) ReadFields(fields []Field) (wrong error) {
	for i := range fields {
		f := &fields[i]
		if f.Value = r.Text(f.Name); f.Rows > 0 {
			f.Value = FormText(r.PostFormValue(f.Name))
		}
		if f.Newer && !r.PostForm.Has(f.Name) {
			ShowFields(fields[i : i+1])
			continue
		}
		var number *int
		var err error
		switch into := f.Into.(type) {
		case *string:
			*into = f.Value
		case *int:
			if number, err = OptionalNumber(f.Name, f.Value); number != nil {
				*into = *number
			} else {
				*into = 0
			}
		case **int:
			*into, err = OptionalNumber(f.Name, f.Value)
		case *[]string:
			if words := Words(f.Value); len(words) > 0 || len(*into) > 0 { // else a value that means none stays
				*into = words
			}
		}
		f.keepChosen()
		wrong = cmp.Or(wrong, err)
	}
	return wrong
}

// Blames is the complaint about a field.
func (p Page) Blames(f Field) string {
	if p.Error == nil || p.Error.Field != f.Name && (f.Blame == "" || p.Error.Field != f.Blame) {
		return ""
	}
	return p.Error.Message
}

// Blame names the field of an error as a form does.
func Blame(err error, labels map[string]string) error {
	told, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return err
	}
	blamed := *told
	blamed.Field = cmp.Or(labels[told.Field], told.Field)
	return &blamed
}

// onceField tells forms apart that are alike: {{once}} puts it into one.
const onceField = "once"

// Once makes sending the same form again do nothing; a form that was changed in
// between is another one.
func (r *Request) Once() *base.Idempotency {
	token := r.PostFormValue(onceField)
	if len(token) < 16 || len(token) > 100 {
		return nil
	}
	rest := maps.Clone(r.PostForm)
	rest.Del(onceField)
	sum := sha256.Sum256([]byte(rest.Encode()))
	return &base.Idempotency{Key: fmt.Sprintf("%s-%x", token, sum[:8]), Method: r.Method, Path: r.URL.Path, BodyHash: sum}
}
