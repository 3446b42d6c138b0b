package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// String is the summary, so that no way of printing a Config shows a secret.
func (c Config) String() string { return c.Summary() }

// GoString is the summary, too.
func (c Config) GoString() string { return c.Summary() }

// Summary is one line with all settings and no secrets.
func (c Config) Summary() string {
	var parts []string
	for _, a := range c.attrs() {
		parts = append(parts, fmt.Sprintf("%s=%s", a.Key, quoteWord(a.Value.String())))
	}
	return strings.Join(parts, " ")
}

// LogValue is the summary as attributes.
func (c Config) LogValue() slog.Value { return slog.GroupValue(c.attrs()...) }

func (c Config) attrs() []slog.Attr {
	var attrs []slog.Attr
	for _, s := range c.Settings() {
		if s.Value != "" {
			attrs = append(attrs, slog.String(strings.ReplaceAll(s.Name, "-", "_"), s.Value))
		}
	}
	return attrs
}

// withoutPassword keeps of a URL what tells databases apart. Parameters may hold
// a password as well.
func withoutPassword(database string) string {
	if !isPostgres(database) {
		return database
	}
	u, err := url.Parse(database)
	if err != nil {
		return "postgres://[not readable]"
	}
	safe := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil {
		safe.User = url.User(u.User.Username())
	}
	return safe.String()
}

// Reference is the table of all settings for the documentation, in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("| flag | environment | file key | default | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range Fields() {
		flag, key := "`--"+f.Name+"`", "`"+f.Key+"`"
		if f.EnvOnly {
			flag, key = "", ""
		}
		help := f.Help
		if f.Words != nil {
			help += " (" + strings.Join(showWords(f.Words), ", ") + ")"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n", flag, f.Env, key, code(f.Default()), strings.ReplaceAll(help, "|", `\|`))
	}
	return b.String()
}

func showWords(words []string) []string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, code(w))
		}
	}
	return out
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
