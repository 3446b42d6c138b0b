package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"
)

// commandLimit is how long a key command may take.
const commandLimit = 10 * time.Second

// Source says where master keys come from: exactly one of File, Text and Command
// is set. Printing a Source shows that a text is set, not what it is; hold it in
// an exported field or a variable, because fmt ignores that in unexported fields.
type Source struct {
	// File holds the key; others must not be able to read it.
	File string
	// Text is the key itself, from LINESHAFT_MASTER_KEY.
	Text string
	// Command is a program and its arguments that print the key within 10 s. It
	// sees of the environment only PATH and HOME.
	Command []string
	// Create makes File, with a new random key, if it is missing.
	Create bool
	// Old are the texts of older keys that may still open values, from
	// LINESHAFT_MASTER_KEY_OLD; empty ones are ignored.
	Old []string
}

// Load reads the master keys.
func Load(ctx context.Context, s Source) (*Vault, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load master key: %w", err)
	}
	current, err := s.current(ctx)
	if err != nil {
		return nil, fmt.Errorf("load master key: %w", err)
	}
	var old []Key
	for i, text := range s.Old {
		if strings.TrimSpace(text) == "" {
			continue
		}
		key, err := ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("load older master key %d of LINESHAFT_MASTER_KEY_OLD: %w", i+1, err)
		}
		old = append(old, key)
	}
	return New(current, old...), nil
}

func (s Source) current(ctx context.Context) (Key, error) {
	set := 0
	for _, is := range []bool{s.File != "", s.Text != "", len(s.Command) > 0} {
		if is {
			set++
		}
	}
	switch {
	case set == 0:
		return Key{}, errors.New("no source is set; name a key file, a key command, or set LINESHAFT_MASTER_KEY")
	case set > 1:
		return Key{}, errors.New("more than one source is set; keep one of key file, key command and LINESHAFT_MASTER_KEY")
	case s.Text != "":
		key, err := ParseKey(s.Text)
		if err != nil {
			return Key{}, fmt.Errorf("LINESHAFT_MASTER_KEY: %w", err)
		}
		return key, nil
	case len(s.Command) > 0:
		return keyFromCommand(ctx, s.Command, commandLimit)
	default:
		return keyFromFile(s.File, s.Create)
	}
}

// String says which source is set. Of a command it shows the program alone:
// arguments may hold credentials.
func (s Source) String() string {
	var parts []string
	if s.File != "" {
		parts = append(parts, "file "+s.File)
	}
	if s.Text != "" {
		parts = append(parts, "text [set]")
	}
	if len(s.Command) > 0 {
		parts = append(parts, "command "+program(s.Command))
	}
	if s.Create {
		parts = append(parts, "create")
	}
	if len(s.Old) > 0 {
		parts = append(parts, fmt.Sprintf("%d old", len(s.Old)))
	}
	return "vault.Source(" + strings.Join(parts, ", ") + ")"
}

// GoString is String.
func (s Source) GoString() string { return s.String() }

// Format writes String, whatever the verb.
func (s Source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue returns String.
func (s Source) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON returns String.
func (s Source) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// program names a command without arguments, also where somebody wrote the whole
// line as its first word.
func program(argv []string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(argv[0]), " ")
	return filepath.Base(name)
}
