package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft/internal/nearest"
)

// Sources is what people and their tools have said, in the order of growing weight.
type Sources struct {
	// FileName is for messages; File is the text of the file, nil when there is none.
	FileName string
	File     []byte
	// Environ holds NAME=value pairs, as os.Environ returns them. An empty value
	// counts as not set.
	Environ []string
	// Flags are the flags that were given, by name, with all their values.
	Flags map[string][]string
	// DataDir is the data directory when nobody names one; empty is that of a server.
	DataDir string
}

// Load puts the sources over the defaults and checks the result. The error tells
// all problems at once, each with the place to fix it.
func Load(src Sources) (Config, error) {
	c := Default()
	if src.DataDir != "" {
		c.DataDir = src.DataDir
	}
	c.file = src.FileName
	// The order matters: each source overwrites the one before. Join leaves out nils.
	file := setFile(&c, src.FileName, src.File)
	environ := setEnviron(&c, src.Environ)
	flags := setFlags(&c, src.Flags)
	return c, errors.Join(file, environ, flags, c.Validate())
}

func setEnviron(c *Config, environ []string) error {
	var errs []error
	set := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			set[name] = value
		}
	}
	for _, f := range Fields() {
		if value := set[f.Env]; value != "" {
			if err := f.Set(c, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", f.Env, err))
			}
			note(c, f.Name, OriginEnvironment)
		}
	}
	return errors.Join(errs...)
}

func setFlags(c *Config, flags map[string][]string) error {
	var errs []error
	for _, f := range Fields() {
		values := flags[f.Name]
		if f.EnvOnly || len(values) == 0 {
			continue
		}
		if f.Kind != "list" {
			values = values[len(values)-1:]
		}
		if err := f.Set(c, values...); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", f.Name, err))
		}
		note(c, f.Name, OriginFlag)
	}
	return errors.Join(errs...)
}

// MisspeltEnv tells variables that look like a setting but are none.
func MisspeltEnv(environ []string) []string {
	var names, warnings []string
	known := map[string]bool{}
	for _, f := range Fields() {
		names = append(names, f.Env)
		known[f.Env] = true
	}
	for _, other := range []string{"URL", "API_KEY", "API_URL", "CONFIG", "CONTEXT", "CONTEXTS", "RUN_ID", "RUN_TOKEN", "PROMPT", "PROMPT_FILE", "ARTIFACTS"} {
		known[envPrefix+other] = true
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || known[name] {
			continue
		}
		for _, candidate := range names {
			if nearest.Distance(name, candidate) <= 2 {
				warnings = append(warnings, fmt.Sprintf("%s is set but is not a setting; did you mean %s?", name, candidate))
				break
			}
		}
	}
	return warnings
}
