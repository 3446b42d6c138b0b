package vault_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/vault"
)

func TestS1NewKeyWants32Bytes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 16, 24, 31, 33, 64} {
		if k, err := vault.NewKey(make([]byte, size)); err == nil || k.ID() != "" {
			t.Errorf("%d bytes: %v, %v", size, k, err)
		}
	}
	raw := bytes.Repeat([]byte{9}, 32)
	k, err := vault.NewKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	v := vault.New(k)
	sealed := seal(t, v, "N", "x")
	clear(raw) // the key is its own
	wantOpen(t, v, "N", sealed, "x")
}

func TestS1KeyIDIsSteadyAndDiffers(t *testing.T) {
	t.Parallel()
	a, b := key(t, 1), key(t, 2)
	if a.ID() == b.ID() || a.ID() != key(t, 1).ID() {
		t.Fatalf("ids %s, %s", a.ID(), b.ID())
	}
	if raw, err := hex.DecodeString(a.ID()); err != nil || len(raw) != 8 {
		t.Fatalf("id is %q, want 8 bytes in hexadecimal", a.ID())
	}
	// Stored with every value, so it must never change.
	if want := "d08ebaa7ee54118a"; a.ID() != want {
		t.Fatalf("id is %s, want %s", a.ID(), want)
	}
}

// rawKey has every character of both base64 alphabets' ends and hexadecimal letters.
func rawKey() []byte {
	return append([]byte{0xfb, 0xff, 0xbf, 0x3e, 0xff}, bytes.Repeat([]byte{0xab}, 27)...)
}

func TestS1ParseKeyTakesEverySpelling(t *testing.T) {
	t.Parallel()
	raw := rawKey()
	want, err := vault.NewKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"standard":          base64.StdEncoding.EncodeToString(raw),
		"standard unpadded": base64.RawStdEncoding.EncodeToString(raw),
		"url":               base64.URLEncoding.EncodeToString(raw),
		"url unpadded":      base64.RawURLEncoding.EncodeToString(raw),
		"hex":               hex.EncodeToString(raw),
		"upper case hex":    strings.ToUpper(hex.EncodeToString(raw)),
	} {
		for _, around := range []string{"", "\n", " \t\r\n"} {
			got, err := vault.ParseKey(around + text + around)
			if err != nil || got.ID() != want.ID() {
				t.Errorf("%s: %v, %v; want %v", name, got, err, want)
			}
		}
	}
}

func TestS1ParseKeyRefusesWithoutQuoting(t *testing.T) {
	t.Parallel()
	std := base64.StdEncoding.EncodeToString(rawKey())
	for name, text := range map[string]string{
		"empty":              "",
		"space":              " \n",
		"password":           "correct-horse-battery-staple",
		"short":              base64.StdEncoding.EncodeToString(rawKey()[:31]),
		"long":               base64.StdEncoding.EncodeToString(append(rawKey(), 1)),
		"short hex":          hex.EncodeToString(rawKey())[:62],
		"not hex":            hex.EncodeToString(rawKey())[:63] + "g",
		"two lines":          std[:20] + "\n" + std[20:],
		"two keys":           std + "\n" + std,
		"inner space":        std[:20] + " " + std[20:],
		"both alphabets":     "-" + std[1:],
		"loose last bits":    std[:42] + "t=",
		"double padding":     std + "=",
		"quoted":             `"` + std + `"`,
		"variable":           "KEY=" + std,
		"binary":             string(rawKey()),
		"hex with NUL":       "\x00" + hex.EncodeToString(rawKey())[1:],
		"whole wrapped line": hex.EncodeToString(rawKey())[:32] + "\n" + hex.EncodeToString(rawKey())[:31],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, err := vault.ParseKey(text)
			if err == nil {
				t.Fatalf("taken as %v", k)
			}
			if !strings.Contains(err.Error(), "openssl rand -base64 32") {
				t.Errorf("%q does not say what to do", err)
			}
			if piece := strings.TrimSpace(text); len(piece) >= 8 && strings.Contains(err.Error(), piece[:8]) {
				t.Errorf("%q quotes the text", err)
			}
		})
	}
}
