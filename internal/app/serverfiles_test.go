package app

import (
	"reflect"
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft/internal/config"
)

// notHidden are the settings of text that name no file of the server's, or one that
// agents may see. Anyone who adds a setting decides: here, or in serverFiles.
var notHidden = []string{
	// Hidden by chooseIsolation itself, with all that is below it.
	"DataDir",
	// Programs, and what agents are to see.
	"ContainerProgram", "AgentPath", "AgentCommand",
	// Words, names and addresses.
	"Listen", "BlobURL", "BlobRegion", "BlobKeyID", "BaseURL", "WebhookBaseURL", "Isolation", "KubernetesNamespace", "KubernetesImage", "KubernetesGatewayListen", "KubernetesGatewayURL",
	"ContainerImage", "ChildHarnesses", "ChildModels", "AgentSeccomp", "Egress", "EgressHosts", "Model", "AnthropicURL", "OpenAIURL", "GeminiURL", "CORSOrigins", "ACMEDomains", "ACMEDirectory", "ACMEEmail", "OIDCIssuer", "OIDCClientID",
	"OIDCName", "OIDCScopes", "OIDCRoleClaim", "OIDCDefaultRole", "OTLPEndpoint", "LogFormat", "LogLevel", "DefaultHarness", "PermissionPolicy",
}

// Every file that the settings name is hidden from agents, and a new setting of
// text fails here until someone has decided.
func TestX5FilesOfTheSettingsAreHidden(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[config.Config]().NumField() {
		field := reflect.TypeFor[config.Config]().Field(i)
		if !field.IsExported() || slices.Contains(notHidden, field.Name) {
			continue
		}
		var cfg config.Config
		path := "/srv/lineshaft/" + field.Name
		switch field.Type {
		case reflect.TypeFor[string]():
			reflect.ValueOf(&cfg).Elem().Field(i).SetString(path)
		case reflect.TypeFor[[]string]():
			reflect.ValueOf(&cfg).Elem().Field(i).Set(reflect.ValueOf([]string{"cat", path}))
		default:
			continue // numbers, switches, and secrets, which come from the environment
		}
		if !slices.Contains(serverFiles(cfg), path) {
			t.Errorf("agents see the file of %s; add it to serverFiles, or to notHidden if it names none", field.Name)
		}
	}
}

func TestX5TheSettingsThemselvesAreHidden(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(config.Sources{FileName: "/opt/lineshaft/lineshaft.yaml", File: []byte("metrics_key: x\n")})
	if err != nil {
		t.Fatal(err)
	}
	cfg.MasterKeyCommand = []string{"/usr/bin/openssl", "--in=/opt/key", "-f", "/opt/other", "relative"}
	files := serverFiles(cfg)
	for _, want := range []string{"/opt/lineshaft/lineshaft.yaml", "/opt/key", "/opt/other"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is not among %q", want, files)
		}
	}
	if slices.Contains(files, "/usr/bin/openssl") {
		t.Error("a program of the system is hidden from agents")
	}
}
