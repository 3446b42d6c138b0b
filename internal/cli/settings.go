package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft/internal/config"
)

// settings gathers a server's configuration from flags, environment and file.
type settings struct {
	sh    *shell
	file  string
	flags map[string][]string
	// command lists the settings in its help; empty is serve.
	command string
	// help replaces that of single settings, where they mean something else here.
	help map[string]string
	// dataDir replaces the default data directory.
	dataDir string
}

// bind adds the flags of the named settings, or of all when names is nil.
func (s *settings) bind(flags *pflag.FlagSet, names []string) {
	s.flags = map[string][]string{}
	flags.StringVar(&s.file, "config", "", "`FILE` with settings in YAML (default $LINESHAFT_CONFIG)")
	for _, f := range config.Fields() {
		if f.EnvOnly || names != nil && !slices.Contains(names, f.Name) {
			continue
		}
		help := cmp.Or(s.help[f.Name], f.Help)
		if words := slices.DeleteFunc(slices.Clone(f.Words), func(w string) bool { return w == "" }); len(words) > 0 {
			help += " (" + strings.Join(words, ", ") + ")"
		}
		flag := flags.VarPF(&collected{in: s.flags, field: f}, f.Name, "", help)
		flag.DefValue = f.Default()
		if f.Name == "data-dir" && s.dataDir != "" {
			flag.DefValue = s.dataDir
		}
		if f.Kind == "switch" {
			flag.NoOptDefVal = "true"
		}
	}
	flags.SortFlags = false
}

// collected is a flag whose values are kept as text: config reads and checks them
// together with those of the other sources, to tell all problems at once.
type collected struct {
	in    map[string][]string
	field config.Field
}

func (c *collected) Set(text string) error {
	c.in[c.field.Name] = append(c.in[c.field.Name], text)
	return nil
}

func (c *collected) String() string { return "" }

func (c *collected) Type() string {
	if c.field.Kind == "switch" {
		return "bool"
	}
	return strings.ToUpper(c.field.Kind)
}

func (s *settings) load() (config.Config, error) {
	src := config.Sources{FileName: s.file, Environ: s.sh.deps.Environ, Flags: s.flags, DataDir: s.dataDir}
	if src.FileName == "" {
		src.FileName = s.sh.env["LINESHAFT_CONFIG"]
	}
	if src.FileName != "" {
		data, err := os.ReadFile(src.FileName)
		if err != nil {
			return config.Config{}, usage(fmt.Sprintf("cannot read the settings: %v", err), "Check the name given with --config or LINESHAFT_CONFIG.")
		}
		src.File = data
	}
	cfg, err := config.Load(src)
	if err != nil {
		return cfg, usage("the settings are not right:\n"+err.Error(), "`lineshaft "+cmp.Or(s.command, "serve")+" --help` lists all settings.")
	}
	return cfg, nil
}
