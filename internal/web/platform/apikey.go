package platform

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (s pages) apiKeyRoutes() []page.Route {
	const needs = lineshaft.PermissionKeys
	return append([]page.Route{
		page.Get("/keys", needs, page.Show("keys", s.keysPage)),
		page.Get("/keys/new", needs, page.Show("key", s.newKeyPage)),
		page.Post("/keys", needs, s.createKey),
	}, page.Removing("/keys/{id}/revoke", needs, s.askRevokeKey, func(r *page.Request, id string) error {
		return s.Control.RevokeAPIKey(r.Context(), r.Caller, id)
	})...)
}

// keyRow is a key with the names of the factories that it is limited to.
type keyRow struct {
	lineshaft.APIKey

	Factories []string
	// Own is the key that the reader has signed in with.
	Own bool
}

type keysData struct {
	page.Pager

	Keys []keyRow
	// Ended says that keys are shown that open nothing any more.
	Ended bool
	// Usable and Over are how many there are of each on this page.
	Usable, Over int
}

func (s pages) keysPage(r *page.Request) (p page.Page, err error) {
	found, err := s.Control.ListAPIKeys(r.Context(), r.Caller, base.MaxPage, r.Cursor())
	if err != nil {
		return p, err
	}
	names, err := s.FactoryNames(r.Context(), r.Caller)
	data, now := keysData{Ended: r.URL.Query().Get("show") == "ended", Pager: r.Pager(found.Next)}, time.Now()
	for _, key := range found.Items {
		usable := key.Usable(now)
		if usable {
			data.Usable++
		} else {
			data.Over++
		}
		if usable != data.Ended {
			data.Keys = append(data.Keys, keyRow{APIKey: key, Factories: page.Named(key.FactoryUIDs, names), Own: key.ID == r.Caller.KeyID})
		}
	}
	return page.Of("keys", data), err
}

// keyForm is a key as its form has it.
type keyForm struct {
	Name, Role, Days, Until, Workers string
	Chosen                           []string
	Factories                        []page.Option
	Roles                            []page.Option
}

// Picked says whether a factory is among those of the key.
func (f keyForm) Picked(uid string) bool { return slices.Contains(f.Chosen, uid) }

func keyRoles() []page.Option {
	return []page.Option{
		{Value: string(lineshaft.RoleViewer), Name: "Reads everything but secrets, keys and the audit log."},
		{Value: string(lineshaft.RoleMember), Name: "Starts runs, and steers its own."},
		{Value: string(lineshaft.RoleManager), Name: "Changes factories, webhooks, schedules and environments, and steers any run."},
		{Value: string(lineshaft.RoleAdmin), Name: "Also manages keys, secrets and settings."},
		{Value: string(lineshaft.RoleWorker), Name: "Executes runs for its worker ids, and nothing else."},
	}
}

func (s pages) newKeyPage(r *page.Request) (page.Page, error) {
	query := r.URL.Query()
	role := cmp.Or(query.Get("role"), string(lineshaft.RoleMember))
	return s.keyPage(r, keyForm{Role: role, Days: "90", Workers: query.Get("worker"), Name: query.Get("worker")})
}

func (s pages) keyPage(r *page.Request, form keyForm) (page.Page, error) {
	names, err := s.FactoryNames(r.Context(), r.Caller)
	form.Factories, form.Roles = page.Options(names), keyRoles()
	return page.Below("keys", "New key", form), err
}

// madeKey is a key in the one answer that ever has it.
type madeKey struct {
	Made lineshaft.APIKey
	Key  string
	// Export and Worker are lines to copy.
	Export, Worker string
}

// createKey answers with the key itself: no redirect, so that it is kept nowhere.
func (s pages) createKey(r *page.Request) error {
	form := readKeyForm(r)
	asked, err := form.key(time.Now())
	asked.Once = r.Once()
	if err == nil {
		var made lineshaft.APIKey
		var key string
		if made, key, err = s.Control.CreateAPIKey(r.Context(), r.Caller, asked); err == nil {
			data := madeKey{Made: made, Key: key, Export: "export LINESHAFT_API_KEY=" + key}
			if len(made.WorkerIDs) > 0 {
				data.Worker = s.workerCommand(made.WorkerIDs[0])
			}
			return r.Render("keymade", page.Below("keys", "Key created", data))
		}
	}
	p, formErr := s.keyPage(r, form)
	return r.Again("key", p, cmp.Or(formErr, err))
}

func readKeyForm(r *page.Request) keyForm {
	form := keyForm{Name: r.Text("name"), Role: r.Text("role"), Days: r.Text("expires"), Until: r.Text("until")}
	// The form hides what a role has no use for.
	if form.Role == string(lineshaft.RoleWorker) {
		form.Workers = r.Text("workers")
	} else {
		form.Chosen = r.PostForm["factory"]
	}
	return form
}

// key is the key that the form asks for.
func (f keyForm) key(now time.Time) (access.NewAPIKey, error) {
	key := access.NewAPIKey{
		Name: f.Name, Role: lineshaft.Role(f.Role), FactoryUIDs: f.Chosen,
		WorkerIDs: page.Words(f.Workers),
	}
	switch {
	case f.Until != "":
		day, err := time.Parse(time.DateOnly, f.Until)
		if err != nil {
			return key, lineshaft.Invalid("expires_at", "write the day as 2026-12-31")
		}
		key.ExpiresAt = day.AddDate(0, 0, 1) // the day itself still counts
	case f.Days != "":
		days, err := strconv.Atoi(f.Days)
		if err != nil || days < 1 || days > 3650 {
			return key, lineshaft.Invalid("expires_at", "choose one of the offered times")
		}
		key.ExpiresAt = now.AddDate(0, 0, days)
	}
	return key, nil
}

func (s pages) askRevokeKey(r *page.Request) (page.Removal, error) {
	key, err := s.Control.GetAPIKey(r.Context(), r.Caller, r.PathValue("id"))
	ask := page.Removal{
		Section: "keys", Crumbs: page.Way("keys"), ID: key.ID, Kind: "key", Name: key.Name, Verb: "Revoke", Back: "/keys",
		Done: "The key " + key.Name + " is revoked.", Effects: []string{
			"Programs that use it are refused from now on, and browsers that signed in with it are signed out. This cannot be undone.",
		},
	}
	if key.ID == r.Caller.KeyID {
		ask.Effects = append(ask.Effects, "This is the key that you have signed in with: you will be signed out.")
	}
	return ask, err
}
