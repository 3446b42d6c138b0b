package platform

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// environmentForm is an environment as its form has it: texts, right or wrong.
type environmentForm struct {
	Name, Description, Image, GitCredentials string
	// Lists are in this order: repositories, set-up commands, secrets.
	Lists []formList
	// SecretNames are offered while one types.
	SecretNames        []string
	Action, Back, Verb string
}

// formList is a list of rows that grows and shrinks, with and without a script.
type formList struct {
	// Name is that of the fields, Label what a row is called.
	Name, Label, Title, Hint, Placeholder string
	// Lines says that a row may have several lines.
	Lines bool
	Rows  []string
	// Grown says that the last row is new; Shrunk, that one is gone.
	Grown, Shrunk bool
}

func environmentLists(repositories, commands, secrets, refresh []string) []formList {
	return []formList{
		{Name: "repository", Label: "Repository", Title: "Repositories", Placeholder: "acme/shop", Rows: repositories, Hint: "Each is cloned into a folder with its name. Write owner/name."},
		{Name: "command", Label: "Command", Title: "Set-up commands", Placeholder: "cd shop && npm ci", Lines: true, Rows: commands, Hint: "Shell commands that run in this order before the agent starts."},
		{Name: "secret", Label: "Secret", Title: "Secrets", Placeholder: "NPM_TOKEN", Rows: secrets, Hint: "Every run in this environment gets them as variables."},
		{
			Name: "refresh", Label: "Refresh command", Title: "Refresh commands", Placeholder: "cd shop && npm install",
			Lines: true, Rows: refresh,
			Hint: "Run instead of the set-up commands when a run starts from files that were prepared for an older commit. Without any, the set-up commands run.",
		},
	}
}

func formOfEnvironment(config lineshaft.EnvironmentConfig) environmentForm {
	var repositories []string
	for _, repository := range config.Repositories {
		repositories = append(repositories, repository.String())
	}
	return environmentForm{
		Name: config.Name, Description: config.Description, Image: config.DockerImage, GitCredentials: config.GitCredentials,
		Lists: environmentLists(repositories, config.SetupCommands, config.Secrets, config.RefreshCommands),
	}
}

// readEnvironmentForm reads the form; asked says that it was sent to add or remove a row,
// not to be saved.
func readEnvironmentForm(r *page.Request) (form environmentForm, asked bool) {
	form = environmentForm{Name: r.Text("name"), Description: r.Text("description"), Image: r.Text("image"), GitCredentials: r.Text("git_credentials")}
	form.Lists = environmentLists(r.PostForm["repository"], r.PostForm["command"], r.PostForm["secret"], r.PostForm["refresh"])
	gone, at, _ := strings.Cut(r.PostFormValue("less"), ":")
	for i := range form.Lists {
		list := &form.Lists[i]
		row, err := strconv.Atoi(at)
		if gone == list.Name && err == nil && row >= 0 && row < len(list.Rows) {
			list.Rows[row], list.Shrunk = "", true
		}
		list.Rows = clean(list.Rows)
		if r.PostFormValue("more") == list.Name {
			list.Rows, list.Grown = append(list.Rows, ""), true
		}
	}
	return form, r.PostForm.Has("more") || r.PostForm.Has("less")
}

// clean drops rows that say nothing.
func clean(given []string) []string {
	var rows []string
	for _, row := range given {
		if row = strings.TrimSpace(strings.ReplaceAll(row, "\r\n", "\n")); row != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// Fields are the rows to show: an empty one where there is none.
func (l formList) Fields() []formRow {
	rows := l.Rows
	if len(rows) == 0 {
		rows = []string{""}
	}
	fields := make([]formRow, len(rows))
	for i, row := range rows {
		fields[i] = formRow{
			ID: fmt.Sprintf("%s-%d", l.Name, i+1), Label: fmt.Sprintf("%s %d", l.Label, i+1), Value: row,
			Less: fmt.Sprintf("%s:%d", l.Name, i), Focus: l.Grown && i == len(rows)-1, Lines: min(strings.Count(row, "\n")+1, 12),
		}
	}
	return fields
}

type formRow struct {
	ID, Label, Value, Less string
	Focus                  bool
	Lines                  int
}

// config is the environment that the form says.
func (f environmentForm) config() (lineshaft.EnvironmentConfig, error) {
	config := lineshaft.EnvironmentConfig{
		Name: f.Name, Description: f.Description, DockerImage: f.Image, GitCredentials: f.GitCredentials,
		SetupCommands: f.Lists[1].Rows, Secrets: f.Lists[2].Rows, RefreshCommands: f.Lists[3].Rows,
	}
	for i, row := range f.Lists[0].Rows {
		repository, err := lineshaft.ParseRepository(row)
		if err != nil {
			told, ok := errors.AsType[*lineshaft.Error](err)
			if !ok {
				return config, err
			}
			return config, lineshaft.Invalid(fmt.Sprintf("config.github_repos[%d]", i), "%s", told.Message)
		}
		config.Repositories = append(config.Repositories, repository)
	}
	return config, nil
}

var rowField = regexp.MustCompile(`^(?:config\.)?(github_repos|setup_commands|secrets|refresh_commands)(?:\[(\d+)\])?`)

// environmentFault names the field of an error as the form does.
func environmentFault(err error) error {
	told, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return err
	}
	blamed := *told
	if row := rowField.FindStringSubmatch(told.Field); row != nil {
		label := map[string]string{
			"github_repos": "Repository", "setup_commands": "Command", "secrets": "Secret", "refresh_commands": "Refresh command",
		}[row[1]]
		blamed.Field = label
		if at, err := strconv.Atoi(row[2]); err == nil {
			blamed.Field = fmt.Sprintf("%s %d", label, at+1)
		}
		return &blamed
	}
	switch strings.TrimPrefix(told.Field, "config.") {
	case "name":
		blamed.Field = "Name"
	case "description":
		blamed.Field = "Description"
	case "docker_image":
		blamed.Field = "Image"
	case "git_credentials":
		blamed.Field = "Credentials"
	}
	return &blamed
}
