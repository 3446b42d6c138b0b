package control_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

func TestS1UsesOfASecret(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		ctx := b.Context()
		must[lineshaft.Secret](b)(b.s.CreateSecret(ctx, b.admin, lineshaft.Secret{Name: "TOKEN", Access: lineshaft.AccessRuns}, "v"))
		if uses := must[secrets.Uses](b)(b.s.SecretUses(ctx, b.admin, "TOKEN")); uses.Any() || uses.More {
			b.Errorf("nobody uses it: %+v", uses)
		}
		n := daily("watch")
		n.Config.Secrets = []string{"TOKEN"}
		watch := must[*lineshaft.Schedule](b)(b.s.CreateSchedule(ctx, b.admin, n))
		if uses := must[secrets.Uses](b)(b.s.SecretUses(ctx, b.admin, "TOKEN")); len(uses.Named) != 1 || uses.Named[0].Text != "schedule watch" {
			b.Errorf("a schedule uses it: %+v", uses)
		}
		wantCode(b, b.s.DeleteSecret(ctx, b.admin, "TOKEN"), lineshaft.CodeConflict)
		if err := b.s.DeleteSchedule(ctx, b.admin, watch.ID); err != nil {
			b.Fatal(err)
		}
		for range 7 {
			must[*lineshaft.EnvironmentDetail](b)(b.s.CreateEnvironment(ctx, b.admin, lineshaft.EnvironmentConfig{Name: "shop", Secrets: []string{"TOKEN"}}))
		}
		uses := must[secrets.Uses](b)(b.s.SecretUses(ctx, b.admin, "TOKEN"))
		if !uses.More || len(uses.Named) != 5 || uses.Named[0].Text != "environment shop" ||
			uses.Named[0].Kind != "environment" || uses.Named[0].UID == "" {
			b.Errorf("%+v", uses)
		}
		_, err := b.s.SecretUses(ctx, b.caller(lineshaft.RoleAdmin, "f"), "TOKEN")
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		_, err = b.s.SecretUses(ctx, b.admin, "lower")
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

func TestX9UsesOfAnEnvironment(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		ctx := b.Context()
		made := must[*lineshaft.EnvironmentDetail](b)(b.s.CreateEnvironment(ctx, b.admin, lineshaft.EnvironmentConfig{Name: "shop"}))
		n := daily("watch")
		n.Config.EnvironmentID = made.UID
		must[*lineshaft.Schedule](b)(b.s.CreateSchedule(ctx, b.admin, n))
		runID := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{EnvironmentID: made.UID}}).RunID
		uses := must[secrets.Uses](b)(b.s.EnvironmentUses(ctx, b.admin, made.UID))
		if uses.RunID != runID || len(uses.Named) != 1 || uses.Named[0].Text != "schedule watch" || uses.More {
			b.Errorf("%+v", uses)
		}
		_, err := b.s.EnvironmentUses(ctx, b.caller(lineshaft.RoleManager, "f"), made.UID)
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		_, err = b.s.EnvironmentUses(ctx, b.admin, "x")
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

func TestS3GetAPIKey(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		made, _, err := b.s.CreateAPIKey(b.Context(), b.admin, access.NewAPIKey{Name: "ci", Role: lineshaft.RoleMember})
		if err != nil {
			b.Fatal(err)
		}
		if key := must[lineshaft.APIKey](b)(b.s.GetAPIKey(b.Context(), b.admin, made.ID)); key.Name != "ci" {
			b.Errorf("%+v", key)
		}
		for _, keyID := range []string{"", "x\x00", b.newID()} {
			_, err := b.s.GetAPIKey(b.Context(), b.admin, keyID)
			wantCode(b, err, lineshaft.CodeNotFound)
		}
		_, err = b.s.GetAPIKey(b.Context(), b.caller(lineshaft.RoleAdmin, "f"), made.ID)
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}
