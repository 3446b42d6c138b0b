package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// folder is a definition of some thirty parts. Two of them share their webhook and
// agent names, and differ in every file.
func folder(name string) map[string]string {
	files := map[string]string{
		"factory.yaml":               "schemaVersion: v1alpha1\nname: " + name + " # of this one\n",
		"agents/foreman/agent.md":    "---\nagentType: FOREMAN\n---\nForeman of " + name + ".\n",
		"webhooks/shared.yaml":       "# of " + name + "\nsecretName: HOOK\n",
		"webhooks/" + name + ".yaml": "authMode: url_token\nsecretName: HOOK\n",
	}
	for i := range 7 {
		own := fmt.Sprintf("%s%d", name, i)
		files[fmt.Sprintf("agents/agent%d/agent.md", i)] = "---\ndescription: of " + name + "\n---\nYou work for " + name + ".\n"
		files["runners/"+own+".yaml"] = "description: of " + name + "\n"
		files["skills/"+own+"/SKILL.md"] = "---\nname: " + own + "\ndescription: of " + name + "\n---\nSkill of " + name + ".\n"
		files["automations/"+own+"/automation.md"] = fmt.Sprintf("---\nagent: agent%d\ntriggers:\n  - provider: webhook\n    event: received\n"+
			"    filter:\n      webhooks: [shared, %s]\n---\nWork of %s.\n", i, name, name)
	}
	return files
}

// TestF4ApplyKilledAnywhere kills the server at random moments while two folders are
// applied in turn. After each start the factory is one of the two, whole: the one that
// was acknowledged last, or the one that was on its way; and the newest revision says
// the same.
func TestF4ApplyKilledAnywhere(t *testing.T) {
	t.Parallel()
	kills := 10
	if soak() {
		kills = 100
	}
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		n := newNode(t, database, "--no-worker", "--log-level", "warn")
		n.start(t.Context())
		var f, s struct{ UID, Name string }
		n.answerOf("POST", "/factory", `{"name": "works"}`, &f)
		n.answerOf("POST", "/secrets", `{"name": "HOOK", "value": "a-secret-that-is-long-enough-for-a-token"}`, &s)
		folders := []map[string]string{folder("left"), folder("right")}
		began := time.Now()
		if _, err := n.client().Definitions.Apply(t.Context(), f.UID, client.DefinitionRequest{Files: folders[0]}); err != nil {
			t.Fatal(err)
		}
		// Some applies must be done before a kill, however slow this machine is.
		within := int64(250*time.Millisecond + 3*time.Since(began))
		random := rand.New(rand.NewPCG(20261115, 5))
		acknowledged, applied, onTheWay := 0, 0, 0
		for range kills {
			done := make(chan int)
			go func(last int) { done <- applyInTurn(t.Context(), n.client(), f.UID, folders, last) }(acknowledged)
			pause(t.Context(), time.Duration(random.Int64N(within)))
			n.kill()
			last := <-done
			applied += last - acknowledged
			n.start(t.Context())
			acknowledged = checkDefinition(t, n.client(), f.UID, folders, last)
			onTheWay += acknowledged - last
		}
		t.Logf("%d kills, %d applies acknowledged, %d done without an answer", kills, applied, onTheWay)
		if applied == 0 {
			t.Error("no apply was ever acknowledged: this proves nothing")
		}
	})
}

// applyInTurn applies the folders in turn until the server is gone, and returns the
// number of the last apply that was acknowledged.
func applyInTurn(ctx context.Context, c *client.Client, uid string, folders []map[string]string, last int) int {
	for {
		if _, err := c.Definitions.Apply(ctx, uid, client.DefinitionRequest{Files: folders[(last+1)%2]}); err != nil {
			return last
		}
		last++
	}
}

// checkDefinition returns the number of the apply that is in force: the last that was
// acknowledged, or the one after it.
func checkDefinition(t *testing.T, c *client.Client, uid string, folders []map[string]string, last int) int {
	t.Helper()
	out, err := c.Definitions.Export(t.Context(), uid)
	if err != nil {
		t.Fatal(err)
	}
	current := last
	if !maps.Equal(out.Files, folders[current%2]) {
		current++
	}
	if !maps.Equal(out.Files, folders[current%2]) {
		t.Fatalf("neither the one nor the other is in force: %v", out.Files)
	}
	page, err := c.Definitions.Revisions(t.Context(), uid, client.RevisionQuery{Limit: 1})
	if err != nil || len(page.Revisions) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	newest, err := c.Definitions.Revision(t.Context(), uid, page.Revisions[0].Number)
	if err != nil || newest.Number != out.Revision || !maps.Equal(newest.Files, out.Files) {
		t.Fatalf("revision %d is in force, the newest is %+v, %v", out.Revision, newest, err)
	}
	drift, err := c.Definitions.Drift(t.Context(), uid, folders[current%2])
	if err != nil || len(drift.Changes) > 0 {
		t.Fatalf("the factory is not what its folder says: %+v, %v", drift, err)
	}
	return current
}
