package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
)

func (s *server) apiKeyRoutes() []route {
	const needs = lineshaft.PermissionKeys
	return []route{
		{"GET /keys", needs, s.keysPage},
		{"GET /keys/new", needs, s.newKeyPage},
		{"POST /keys", needs, s.createKey},
		{"GET /keys/{id}/revoke", needs, s.askRevokeKey},
		{"POST /keys/{id}/revoke", needs, s.revokeKey},
	}
}

// keyRow is a key with the names of the factories that it is limited to.
type keyRow struct {
	lineshaft.APIKey

	Factories []string
	// Own is the key that the reader has signed in with.
	Own bool
}

type keysData struct {
	Keys []keyRow
	// Ended says that keys are shown that open nothing any more.
	Ended bool
	// Usable and Over are how many there are of each on this page.
	Usable, Over int
	Next, First  string
}

func (s *server) keysPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.ListAPIKeys(r.Context(), c, base.MaxPage, r.URL.Query().Get("cursor"))
	if err != nil {
		return err
	}
	names, err := s.factoryNames(r.Context(), c)
	if err != nil {
		return err
	}
	data, now := keysData{Ended: r.URL.Query().Get("show") == "ended", Next: pageAddress(r, found.Next), First: firstAddress(r)}, time.Now()
	for _, key := range found.Items {
		usable := key.Usable(now)
		if usable {
			data.Usable++
		} else {
			data.Over++
		}
		if usable != data.Ended {
			data.Keys = append(data.Keys, keyRow{APIKey: key, Factories: named(key.FactoryUIDs, names), Own: key.ID == c.KeyID})
		}
	}
	return s.render(w, r, c, "keys", page{Title: "Keys", Section: "keys", Data: data})
}

func named(uids []string, names map[string]string) []string {
	list := make([]string, len(uids))
	for i, uid := range uids {
		if list[i] = names[uid]; list[i] == "" {
			list[i] = uid
		}
	}
	return list
}

// keyForm is a key as its form has it.
type keyForm struct {
	Name, Role, Days, Until, Workers string
	Chosen                           []string
	Factories                        []option
	Roles                            []option
}

// Picked says whether a factory is among those of the key.
func (f keyForm) Picked(uid string) bool { return slices.Contains(f.Chosen, uid) }

func keyRoles() []option {
	return []option{
		{string(lineshaft.RoleViewer), "Reads everything but secrets, keys and the audit log."},
		{string(lineshaft.RoleMember), "Starts runs, and steers its own."},
		{string(lineshaft.RoleManager), "Changes factories, webhooks, schedules and environments, and steers any run."},
		{string(lineshaft.RoleAdmin), "Manages keys, secrets and settings, too."},
		{string(lineshaft.RoleWorker), "Executes runs for the worker ids that it names, and nothing else."},
	}
}

func (s *server) newKeyPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	query := r.URL.Query()
	form := keyForm{Role: query.Get("role"), Days: "90", Workers: query.Get("worker"), Name: query.Get("worker")}
	if form.Role == "" {
		form.Role = string(lineshaft.RoleMember)
	}
	p, err := s.keyPage(r, c, form)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "key", p)
}

func (s *server) keyPage(r *http.Request, c lineshaft.Caller, form keyForm) (page, error) {
	names, err := s.factoryNames(r.Context(), c)
	if err != nil {
		return page{}, err
	}
	for uid, name := range names {
		form.Factories = append(form.Factories, option{uid, name})
	}
	slices.SortFunc(form.Factories, func(a, b option) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	form.Roles = keyRoles()
	return page{Title: "New key", Section: "keys", Crumbs: []crumb{{"Keys", "/keys"}}, Data: form}, nil
}

// madeKey is a key in the one answer that ever has it.
type madeKey struct {
	Made lineshaft.APIKey
	Key  string
	// Export and Worker are lines to copy.
	Export, Worker string
}

// createKey answers with the key itself: no redirect, so that it is kept nowhere.
func (s *server) createKey(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	form := readKeyForm(r)
	asked, err := form.key(time.Now())
	asked.Once = onceOf(r)
	if err == nil {
		var made lineshaft.APIKey
		var key string
		if made, key, err = s.Control.CreateAPIKey(r.Context(), c, asked); err == nil {
			data := madeKey{Made: made, Key: key, Export: "export LINESHAFT_API_KEY=" + key}
			if len(made.WorkerIDs) > 0 {
				data.Worker = s.workerCommand(made.WorkerIDs[0])
			}
			return s.render(w, r, c, "keymade", page{Title: "Key created", Section: "keys", Crumbs: []crumb{{"Keys", "/keys"}}, Data: data})
		}
	}
	p, formErr := s.keyPage(r, c, form)
	if formErr != nil {
		return formErr
	}
	return s.renderAgain(w, r, c, "key", p, err)
}

func readKeyForm(r *http.Request) keyForm {
	text := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	form := keyForm{Name: text("name"), Role: text("role"), Days: text("expires"), Until: text("until")}
	// The form hides what a role has no use for.
	if form.Role == string(lineshaft.RoleWorker) {
		form.Workers = text("workers")
	} else {
		form.Chosen = r.PostForm["factory"]
	}
	return form
}

// key is the key that the form asks for.
func (f keyForm) key(now time.Time) (access.NewAPIKey, error) {
	key := access.NewAPIKey{
		Name: f.Name, Role: lineshaft.Role(f.Role), FactoryUIDs: f.Chosen,
		WorkerIDs: strings.FieldsFunc(f.Workers, separates),
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

func (s *server) askRevokeKey(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	key, err := s.Control.GetAPIKey(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	ask := removal{
		Kind: "key", Name: key.Name, Verb: "Revoke", Action: under("keys", key.ID, "revoke"), Back: "/keys",
		Effects: []string{"Programs that use it are refused from now on, and browsers that signed in with it are signed out. This cannot be undone."},
	}
	if key.ID == c.KeyID {
		ask.Effects = append(ask.Effects, "This is the key that you have signed in with: you will be signed out.")
	}
	return s.askRemoval(w, r, c, "keys", []crumb{{"Keys", "/keys"}}, ask, nil)
}

func (s *server) revokeKey(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	key, err := s.Control.GetAPIKey(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := s.Control.RevokeAPIKey(r.Context(), c, key.ID); err != nil {
		return err
	}
	return s.done(w, r, "/keys", "The key "+key.Name+" is revoked.")
}
