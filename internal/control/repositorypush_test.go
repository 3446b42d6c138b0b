package control_test

import (
	"fmt"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

func TestF5PushesThatForgesTellOf(t *testing.T) {
	t.Parallel()
	github := `{"ref":"refs/heads/%s","repository":{"full_name":"acme/shop","clone_url":"https://github.com/acme/shop.git","html_url":"https://github.com/acme/shop","ssh_url":"git@github.com:acme/shop.git","default_branch":"trunk"}}`
	gitlab := `{"object_kind":"push","ref":"refs/heads/%s","project":{"web_url":"https://gitlab.example/acme/shop","git_http_url":"https://gitlab.example/acme/shop.git","git_ssh_url":"git@gitlab.example:acme/shop.git","default_branch":"trunk"},"repository":{"name":"shop","url":"git@gitlab.example:acme/shop.git","homepage":"https://gitlab.example/acme/shop"}}`
	plain := `{"ref":"refs/heads/%s","repository":{"url":"https://forge.example/acme/shop/"}}`
	for name, tc := range map[string]struct {
		url, branch, body, pushed string
		want                      bool
	}{
		"github":                  {"https://github.com/acme/shop.git", "main", github, "main", true},
		"github without .git":     {"https://GitHub.com/acme/shop", "main", github, "main", true},
		"github over ssh":         {"git@github.com:acme/shop.git", "main", github, "main", true},
		"github with ssh scheme":  {"ssh://git@github.com/acme/shop", "main", github, "main", true},
		"other branch":            {"https://github.com/acme/shop.git", "main", github, "dev", false},
		"branch that begins so":   {"https://github.com/acme/shop.git", "main", github, "main/2", false},
		"default branch":          {"https://github.com/acme/shop.git", "", github, "trunk", true},
		"not the default branch":  {"https://github.com/acme/shop.git", "", github, "main", false},
		"other repository":        {"https://github.com/acme/shop2.git", "main", github, "main", false},
		"other owner":             {"https://github.com/evil/shop.git", "main", github, "main", false},
		"other host":              {"https://github.example/acme/shop.git", "main", github, "main", false},
		"gitlab":                  {"https://gitlab.example/acme/shop.git", "main", gitlab, "main", true},
		"gitlab over ssh":         {"git@gitlab.example:acme/shop.git", "", gitlab, "trunk", true},
		"another forge":           {"https://forge.example/acme/shop.git", "x/y", plain, "x/y", true},
		"default branch unknown":  {"https://forge.example/acme/shop.git", "", plain, "any", true},
		"local":                   {"file:///srv/git/shop.git", "main", `{"ref":"refs/heads/%s","repository":{"clone_url":"/srv/git/shop.git"}}`, "main", true},
		"tag":                     {"https://github.com/acme/shop", "main", `{"ref":"refs/tags/%s","repository":{"html_url":"https://github.com/acme/shop"}}`, "main", false},
		"no ref":                  {"https://github.com/acme/shop", "main", `{"refs":"%s","repository":{"html_url":"https://github.com/acme/shop"}}`, "main", false},
		"addresses are no text":   {"https://github.com/acme/shop", "main", `{"ref":"refs/heads/%s","repository":{"html_url":{"a":1},"url":5}}`, "main", false},
		"empty addresses":         {"https://github.com/acme/shop", "main", `{"ref":"refs/heads/%s","repository":{"html_url":"","url":"://"}}`, "main", false},
		"repository is no object": {"https://github.com/acme/shop", "main", `{"ref":"refs/heads/%s","repository":"acme/shop"}`, "main", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := lineshaft.GitSource{URL: tc.url, Branch: tc.branch}
			if got := control.PushTo(source, fmt.Sprintf(tc.body, tc.pushed)); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// A delivery that reports a push makes the repository due, with the delivery durable.
func TestF5PushDeliveryMakesTheRepositoryDue(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		o := newOrigin(w.T)
		broken := o.push("main", folder("Broken", "titel: x")) // so that the webhook stays
		w.automation("any", "")
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "other"}))
		source := lineshaft.GitSource{URL: o.bare, Branch: "main"}
		push := `{"ref":"refs/heads/main","n":%d,"repository":{"clone_url":"` + o.bare + `"}}`
		due := func(want bool) {
			w.Helper()
			if got := must[bool](w.bench)(w.store.RepositoryDue(w.Context())); got != want {
				w.Fatalf("due: %v, want %v", got, want)
			}
		}
		// A factory that follows nothing has nothing to look at.
		w.deliver("1", fmt.Sprintf(push, 1))
		due(false)
		must[*lineshaft.Factory](w.bench)(w.s.UpdateFactory(w.Context(), w.admin, w.factory, factories.FactoryChange{Repository: &source}))
		if f := w.round(w.factory); f.Repository.Seen != broken || len(f.Repository.Problems) == 0 {
			w.Fatalf("%+v", f.Repository)
		}
		due(false)
		w.deliver("2", `{"ref":"refs/heads/dev","repository":{"clone_url":"`+o.bare+`"}}`)
		w.deliver("3", `{"hello":"world"}`)
		due(false)
		if d := w.deliver("4", fmt.Sprintf(push, 4)); len(d.Outcomes) != 1 || d.Outcomes[0].RunID == "" {
			w.Errorf("the push started no run: %+v", d)
		}
		due(true)
		w.round(w.factory)
		// Sent again it changes nothing.
		if d := w.deliver("4", fmt.Sprintf(push, 4)); d.Status != lineshaft.DeliveryDuplicate {
			w.Errorf("%+v", d)
		}
		due(false)
		if found, err := w.store.Repositories(w.Context(), other.UID); err != nil || len(found) != 0 {
			w.Errorf("%+v, %v", found, err)
		}
	}, localGit(t))
}
