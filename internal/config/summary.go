package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
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

// The places that settings come from.
const (
	OriginDefault     = "default"
	OriginFile        = "file"
	OriginEnvironment = "environment"
	OriginFlag        = "flag"
)

// Setting is one setting as people may see it.
type Setting struct {
	Field

	// Value has no secret: of one it says only that it is set.
	Value string
	// Origin is default, file, environment or flag.
	Origin string
}

// Settings lists what holds and where it comes from, without secrets.
func (c Config) Settings() []Setting {
	c.Database = c.DatabaseShown()
	var all []Setting
	for _, f := range Fields() {
		text := f.Get(&c)
		if f.Secret {
			text = Secret(text).String()
		}
		origin := c.origins[f.Name]
		origin = cmp.Or(origin, OriginDefault)
		all = append(all, Setting{Field: f, Value: text, Origin: origin})
	}
	return all
}

// note remembers where a setting comes from. Copies of the Config made before do not
// change with it.
func note(c *Config, name, origin string) {
	origins := maps.Clone(c.origins)
	if origins == nil {
		origins = map[string]string{}
	}
	origins[name] = origin
	c.origins = origins
}

// DatabaseShown is the database as people may see it: without a password.
func (c Config) DatabaseShown() string { return withoutPassword(c.DatabaseOrDefault()) }
