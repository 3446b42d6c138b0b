package control_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/definition"
)

// A folder with every published key is planned with its notices, applied, and comes back
// byte for byte; keys without effect stay when the factory is edited over the API.
func TestF2PublishedFolderComesBack(t *testing.T) {
	t.Parallel()
	files, err := definition.ReadFS(os.DirFS("../definition/testdata/published"))
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(b *bench) {
		for name, value := range map[string]string{"TEAM_TOKEN": "a token of the team", "MODEL_KEY": "a key of the model", "REGISTRY": "user:password-of-the-registry", "CI_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
			b.teamSecret(name, value)
		}
		uid := b.plain("plain")
		plan, err := b.s.PlanDefinition(b.Context(), b.admin, uid, files)
		if err != nil {
			b.Fatal(tell(err))
		}
		found := 0
		for _, n := range plan.Notices {
			if strings.Contains(n.Message, "integrations: has no effect on this server") {
				found++
			}
		}
		if found != 1 {
			b.Errorf("notices %+v", plan.Notices)
		}
		b.apply(uid, files)
		if got := b.export(uid).Files; !maps.Equal(got, files) {
			b.Errorf("exported %v", got)
		}
		if changes := b.drift(uid, files); len(changes) > 0 {
			b.Errorf("applied, and still %+v", changes)
		}
		name := "Renamed"
		if _, err := b.s.UpdateFactory(b.Context(), b.admin, uid, factories.FactoryChange{Name: &name}); err != nil {
			b.Fatal(tell(err))
		}
		after := b.export(uid).Files
		for _, text := range []string{"name: Renamed", "credentialStrategy: CREATOR", "type: linear", "roleArn: arn:aws:iam::1:role/runs", "codeForge: GITLAB"} {
			if !strings.Contains(after["factory.yaml"], text) {
				b.Errorf("%q is lost in\n%s", text, after["factory.yaml"])
			}
		}
		if changes := b.drift(uid, after); len(changes) > 0 {
			b.Errorf("exported, and still %+v", changes)
		}
	})
}

// Mistakes that only the server finds are in one list with those of the files.
func TestF3EveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		files := with(replaced(shop(), "factory.yaml", "TEAM_TOKEN", "NOBODYS_TOKEN"), "runners/big.yaml", "size: 1\n", "webhooks/other.yaml", "secretName: MISSING\nauthMode: basic\n")
		_, err := b.s.ApplyDefinition(b.Context(), b.admin, uid, factories.Application{Files: files})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		for _, text := range []string{"there is no secret NOBODYS_TOKEN", "size: there is no such key", "there is no secret MISSING", `"basic" is not allowed`} {
			if !strings.Contains(tell(err), text) {
				b.Errorf("%q is not among %s", text, tell(err))
			}
		}
		checked, err := b.s.ValidateDefinition(b.Context(), b.admin, uid, files)
		if err != nil || len(checked.Problems) != 4 {
			b.Errorf("%+v %v", checked.Problems, err)
		}
	})
}
