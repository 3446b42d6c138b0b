package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
)

// DefaultForge is where repositories are that are named by owner and name.
const DefaultForge = "https://github.com/{owner}/{repo}.git"

// Config has the settings of a Client.
type Config struct {
	// Cache is a folder for what was fetched. It is made if it is missing.
	Cache string
	// Forge is a URL with {owner} and {repo}, or a local folder; DefaultForge if empty.
	Forge string
	// Credentials open the forge, and nothing else: see Clone. Empty for public ones.
	Credentials string
	// AllowFile lets addresses be local paths and hosts of private networks. The forge
	// may be either without it.
	AllowFile bool
	// Timeout bounds each operation, and clones five times as long; 2 minutes by default.
	Timeout time.Duration
	// MaxFetch bounds what one repository may take in the cache; 512 MiB by default.
	MaxFetch int64
	// MaxBytes bounds what Tree returns of one commit; 64 MiB by default.
	MaxBytes int64
	// MaxClone bounds a clone; 8 GiB by default.
	MaxClone int64
	// MaxCache bounds the cache as a whole; 2 GiB by default.
	MaxCache int64
	// MaxMirrors bounds the total size of the mirrors that clones are made from; 0 means no mirrors.
	MaxMirrors int64
	// Program and SSH are the programs that are run; "git" and "ssh" by default.
	Program string
	SSH     string
	// Resolve finds the addresses of a name; nil is the machine's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Client runs git. The zero value does not work; use New.
type Client struct {
	cfg     Config
	forge   forge
	program string

	mu      sync.Mutex
	busy    map[string]chan struct{} // a place for each cached repository in use
	cleaned time.Time
	canPin  bool // git was found to be new enough
}

// New makes a client and the folders that it needs.
func New(cfg Config) (*Client, error) {
	if cfg.Cache == "" {
		return nil, errors.New("git: no folder for the cache")
	}
	var err error
	if cfg.Cache, err = filepath.Abs(cfg.Cache); err != nil {
		return nil, fmt.Errorf("git cache: %w", err)
	}
	cfg.defaults()
	c := &Client{cfg: cfg, busy: map[string]chan struct{}{}}
	if c.forge, err = parseForge(cfg.Forge); err != nil {
		return nil, err
	}
	if _, err := parseCredentials(cfg.Credentials); err != nil {
		return nil, err
	}
	// Resolved once, so that nothing looks for it in the working folder. A server
	// without git works, except for repositories.
	if c.program, err = exec.LookPath(cfg.Program); err != nil {
		c.program = ""
	}
	return c, c.prepare()
}

func (cfg *Config) defaults() {
	cfg.Forge = cmp.Or(cfg.Forge, DefaultForge)
	if cfg.Timeout <= 0 {
		cfg.Timeout = 2 * time.Minute
	}
	if cfg.MaxFetch <= 0 {
		cfg.MaxFetch = 512 << 20
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 64 << 20
	}
	if cfg.MaxClone <= 0 {
		cfg.MaxClone = 8 << 30
	}
	if cfg.MaxCache <= 0 {
		cfg.MaxCache = 2 << 30
	}
	cfg.Program = cmp.Or(cfg.Program, "git")
	cfg.SSH = cmp.Or(cfg.SSH, "ssh")
}

func (c *Client) prepare() error {
	for _, dir := range []string{c.path("repositories"), c.path("mirrors"), c.path("home"), c.path("keys")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("git cache: %w", err)
		}
	}
	// Local repositories may belong to anyone; the operator has allowed their folders.
	if err := writeFile(c.path("local.gitconfig"), "[safe]\n\tdirectory = *\n"); err != nil {
		return fmt.Errorf("git cache: %w", err)
	}
	c.sweepKeys()
	return nil
}

// writeFile replaces a file at once, as another process may be reading it.
func writeFile(path, text string) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

func (c *Client) path(parts ...string) string {
	return filepath.Join(append([]string{c.cfg.Cache}, parts...)...)
}

// URL is where the forge has a repository.
func (c *Client) URL(r lineshaft.Repository) string { return c.forge.url(r) }

// Check says whether an address may be used here, without asking anyone.
func (c *Client) Check(url string) error {
	_, err := c.address(url)
	return err
}
