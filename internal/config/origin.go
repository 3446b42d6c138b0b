package config

import "maps"

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
		if origin == "" {
			origin = OriginDefault
		}
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
