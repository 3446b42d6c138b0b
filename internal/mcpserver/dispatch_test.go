package mcpserver_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

type started struct {
	RunID    string `json:"run_id"`
	State    string `json:"state"`
	Replayed bool   `json:"replayed"`
	Foreman  string `json:"foreman_agent"`
	Ticket   string `json:"ticket"`
	URL      string `json:"url"`
}

type args = map[string]any

// Work goes to whom the arguments name, by uid, alias or name in any case.
func TestI4DispatchFindsWhoDoesIt(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		shop := s.factory("Shop")
		reviewer, err := s.control.CreateAgent(s.Context(), s.admin, lineshaft.Agent{FactoryUID: shop.UID, Name: "reviewer", Type: lineshaft.AgentReview})
		if err != nil {
			s.Fatal(err)
		}
		place, err := s.control.CreateEnvironment(s.Context(), s.admin, lineshaft.EnvironmentConfig{Name: "Box"})
		if err != nil {
			s.Fatal(err)
		}
		c := s.as(s.key(lineshaft.RoleMember))
		for name, tc := range map[string]struct {
			in      args
			foreman bool
			agent   string
		}{
			"nobody":        {args{"prompt": "x"}, false, ""},
			"uid":           {args{"prompt": "x", "factory": shop.UID}, true, ""},
			"name":          {args{"prompt": "x", "factory": "sHOP"}, true, ""},
			"alias":         {args{"prompt": "x", "factory": "shop ALIAS", "ticket": "linear:ENG-1", "title": "T", "model": "m1", "environment": "box"}, true, ""},
			"agent of it":   {args{"prompt": "x", "factory": "shop", "agent": "Reviewer", "metadata": args{"k": "v"}}, false, reviewer.UID},
			"agent by uid":  {args{"prompt": "x", "agent": reviewer.UID}, false, reviewer.UID},
			"agent by name": {args{"prompt": "x", "agent": "reviewer", "environment": place.UID}, false, reviewer.UID},
		} {
			done := must[started](c, "dispatch", tc.in)
			run, err := s.control.GetRun(s.Context(), s.admin, done.RunID)
			if err != nil {
				s.Fatal(err)
			}
			if run.Source != lineshaft.SourceMCP || done.URL != s.url+"/runs/"+run.ID || (done.Foreman == "foreman") != tc.foreman || tc.agent != "" && run.AgentUID != tc.agent {
				s.Errorf("%s: %+v, source %s, agent %s", name, done, run.Source, run.AgentUID)
			}
			if (run.FactoryUID == shop.UID) != (name != "nobody") {
				s.Errorf("%s: factory %q", name, run.FactoryUID)
			}
			if name == "alias" && (run.Config.ModelID != "m1" || run.Config.EnvironmentID != place.UID || run.Title != "T" || done.Ticket != "linear:ENG-1") {
				s.Errorf("%s: %+v", name, run.Config)
			}
		}
	})
}

func TestI4DispatchSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	s.factory("Twin")
	if _, err := s.control.CreateFactory(t.Context(), s.admin, factories.NewFactory{Name: "twin"}); err != nil {
		t.Fatal(err)
	}
	c := s.as(s.adminKey)
	for _, tc := range []struct {
		code lineshaft.Code
		in   args
		has  string
	}{
		{lineshaft.CodeInvalidRequest, args{}, "prompt"},
		{lineshaft.CodeInvalidRequest, args{"prompt": ""}, "prompt"},
		{lineshaft.CodeInvalidRequest, args{"prompt": strings.Repeat("é", 1<<20)}, "prompt"},
		{lineshaft.CodeInvalidRequest, args{"prompt": "x", "facotry": "y"}, "facotry"},
		{lineshaft.CodeInvalidRequest, args{"prompt": "x", "factory": "TWIN"}, "give one of their uids"},
		{lineshaft.CodeNotFound, args{"prompt": "x", "factory": "none"}, `no factory "none"`},
		{lineshaft.CodeNotFound, args{"prompt": "x", "agent": "none"}, `no agent "none"`},
		{lineshaft.CodeInvalidRequest, args{"prompt": "x", "environment": "none"}, "environment: "},
		{lineshaft.CodeInvalidRequest, args{"prompt": "x", "factory": "twin alias", "ticket": "no colon"}, "ticket: "},
		{lineshaft.CodeInvalidRequest, args{"prompt": "x", "ticket": "a:b"}, "name the factory"},
		{lineshaft.CodeInvalidRequest, args{"prompt": "x", "factory": "twin alias", "metadata": args{"k": "v"}}, "give ticket instead"},
		{lineshaft.CodeInvalidRequest, args{"prompt": "x", "metadata": args{"k": strings.Repeat("v", 300)}}, "metadata.k"},
		{lineshaft.CodeInvalidRequest, args{"prompt": "x", "idempotency_key": "\n"}, "idempotency_key"},
		{lineshaft.CodeInvalidRequest, args{"prompt": "x", "title": strings.Repeat("t", 201)}, "title"},
	} {
		if text := c.fails(tc.code, "dispatch", tc.in); !strings.Contains(text, tc.has) || len(text) > 800 {
			t.Errorf("%.100v: %.900s", tc.in, text)
		}
	}
}

// A key for one factory is told which argument it lacks, and can go on from there.
func TestI4DispatchWithALimitedKeyNamesTheFactory(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	shop := s.factory("Shop")
	c := s.as(s.key(lineshaft.RoleMember, shop.UID))
	text := c.fails(lineshaft.CodeNotAuthorized, "dispatch", args{"prompt": "x"})
	if !strings.Contains(text, "argument factory") || !strings.Contains(text, "list_factories") {
		t.Error(text)
	}
	if run := must[started](c, "dispatch", args{"prompt": "x", "factory": "shop"}); run.RunID == "" {
		t.Errorf("%+v", run)
	}
}

// A call that a client sends again starts no second run, however often at once.
func TestI4DispatchOnceForAKey(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		c := s.as(s.key(lineshaft.RoleMember))
		ids := make([]string, 8)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() { ids[i] = must[started](c, "dispatch", args{"prompt": "x", "idempotency_key": "k"}).RunID })
		}
		wg.Wait()
		for _, id := range ids {
			if id == "" || id != ids[0] {
				s.Fatalf("runs %v", ids)
			}
		}
		if again := must[started](c, "dispatch", args{"idempotency_key": "k", "prompt": "x"}); !again.Replayed || again.RunID != ids[0] {
			s.Errorf("%+v", again)
		}
		c.fails(lineshaft.CodeIdempotencyMismatch, "dispatch", args{"prompt": "y", "idempotency_key": "k"})
		if other := must[started](s.as(s.key(lineshaft.RoleMember)), "dispatch", args{"prompt": "y", "idempotency_key": "k"}); other.RunID == ids[0] {
			s.Error("the key of another caller is another key")
		}
	})
}
