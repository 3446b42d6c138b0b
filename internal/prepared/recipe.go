package prepared

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Recipe is everything that goes into a prepared tree.
type Recipe struct {
	// Environment names it together with its revision.
	Environment string `json:"environment"`
	// Repositories are what is cloned, in order.
	Repositories []Repository `json:"repositories"`
	// Commands are run in order.
	Commands []string `json:"commands"`
	// Refresh are run instead on top of an older layer; none if Commands are.
	Refresh []string `json:"refresh"`
	Image   string   `json:"image"`
	// Machine is what else the commands find: platform, programs, sandbox, network.
	Machine []string `json:"machine"`
	// Secrets are given to the commands, by name. They are in no file of the store.
	Secrets map[string]string `json:"secrets"`
}

// Repository is one that a tree has.
type Repository struct {
	URL    string `json:"url"`
	Folder string `json:"folder"`
	Commit string `json:"commit"`
	// Refs is a print of all branches and tags. It is not part of the key.
	Refs string `json:"refs,omitempty"`
	// Tips are what these lead to; none when that is not known.
	Tips []string `json:"tips,omitempty"`
	// Plain says that the commands have left the branches as the clone had them.
	Plain bool `json:"plain,omitempty"`
}

// Key names the layer of a recipe.
type Key struct {
	// ID is the same for the same recipe; Group is so whatever the commits are.
	ID, Group string
}

// Key is the key of a recipe. It is keyed with a secret of the store: it reveals nothing
// about the values of secrets.
func (s *Store) Key(r Recipe) (Key, error) {
	full := r
	full.Repositories = make([]Repository, len(r.Repositories))
	for i, repository := range r.Repositories {
		full.Repositories[i] = Repository{URL: repository.URL, Folder: repository.Folder, Commit: repository.Commit}
	}
	id, err := s.sum(full)
	if err != nil {
		return Key{}, err
	}
	for i := range full.Repositories {
		full.Repositories[i].Commit = ""
	}
	group, err := s.sum(full)
	return Key{ID: id, Group: group}, err
}

func (s *Store) sum(r Recipe) (string, error) {
	text, err := json.Marshal(r) // keys of maps are sorted
	if err != nil {
		return "", fmt.Errorf("key of a layer: %w", err)
	}
	mac := hmac.New(sha256.New, s.secret)
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil)[:16]), nil
}

// readSecret reads the store's secret, or makes one. Without the old one no layer is found.
func readSecret(dir string) ([]byte, error) {
	name := filepath.Join(dir, "key")
	secret, err := os.ReadFile(name)
	if err == nil && len(secret) == sha256.Size {
		return secret, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	secret = make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // never fails
	if err := os.WriteFile(name+".new", secret, 0o600); err != nil {
		return nil, err
	}
	return secret, os.Rename(name+".new", name)
}
