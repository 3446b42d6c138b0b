package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// version is set by the linker in release builds.
var version = "dev"

// Version is what this program calls itself.
func Version() string { return version }

func (sh *shell) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version of this program",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft version", "for a bug report", "lineshaft version -o json", "for programs"),
		RunE: func(*cobra.Command, []string) error {
			about := aboutBuild()
			if !sh.forPeople() {
				return sh.document(about)
			}
			fmt.Fprintln(sh.out, about)
			return nil
		},
	}
}

type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// String is the build in one line.
func (b build) String() string {
	line := "lineshaft " + b.Version
	if b.Commit != "" {
		line += " (" + b.Commit + ")"
	}
	return line + ", " + b.Go + ", " + b.Platform
}

func aboutBuild() build {
	about := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return about
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			about.Commit = setting.Value[:min(12, len(setting.Value))]
		}
	}
	return about
}

func (sh *shell) openapiCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "openapi",
		Hidden:  true,
		Short:   "Print the OpenAPI description of the server's API",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft openapi > openapi.json", "as JSON", "lineshaft openapi -o yaml > openapi.yaml", "as YAML"),
		RunE: func(*cobra.Command, []string) error {
			if sh.deps.OpenAPI == nil {
				return notBuilt("openapi")
			}
			text, err := sh.deps.OpenAPI()
			if err == nil && sh.format == formatYAML {
				text, err = yaml.JSONToYAML(text)
			}
			if err != nil {
				return fmt.Errorf("describe the API: %w", err)
			}
			_, err = sh.out.Write(text)
			return err
		},
	}
}
