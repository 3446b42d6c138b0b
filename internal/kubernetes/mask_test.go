package kubernetes

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// TestS2LogsOfPodsAreMaskedFully: what a pod wrote is shown without any value that it had,
// also those that its agent does not get.
func TestS2LogsOfPodsAreMaskedFully(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"run token": "ls_run_token-value", "fencing token": "fence-value-1234", "secret": "s3cret-value-1", "secret of a tool server": "tool-value-5678",
		"git credentials": "robot:forge-token-9", "half of git credentials": "forge-token-9",
	}
	job := lineshaft.Job{
		ExecutionRef: lineshaft.ExecutionRef{ExecutionID: "e", Token: values["fencing token"]}, RunToken: values["run token"],
		Secrets: lineshaft.SecretValues{"API": values["secret"]}, ToolSecrets: lineshaft.SecretValues{"MCP": values["secret of a tool server"]},
	}
	job.Prepare.GitCredentials = lineshaft.SecretText(values["git credentials"])
	p := &placement{job: job}
	for name, value := range values {
		if got := p.mask().String("panic: with " + value + " in it"); strings.Contains(got, value) || !strings.Contains(got, "panic: with ***") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
