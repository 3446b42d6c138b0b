package vault_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/vault"
)

// key returns a master key that is the same for the same byte.
func key(tb testing.TB, fill byte) vault.Key {
	tb.Helper()
	k, err := vault.NewKey(bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func seal(tb testing.TB, v *vault.Vault, name, value string) string {
	tb.Helper()
	sealed, err := v.Seal(name, []byte(value))
	if err != nil {
		tb.Fatal(err)
	}
	return sealed
}

func wantOpen(t *testing.T, v *vault.Vault, name, sealed, want string) {
	t.Helper()
	got, err := v.Open(name, sealed)
	if err != nil || string(got) != want {
		t.Fatalf("Open(%q) = %q, %v; want %q", name, got, err, want)
	}
}

func wantErr(t *testing.T, got []byte, err, want error) {
	t.Helper()
	if got != nil || !errors.Is(err, want) {
		t.Fatalf("got %q, %v; want error %v", got, err, want)
	}
}

func TestS1SealOpenRoundTrip(t *testing.T) {
	t.Parallel()
	v := vault.New(key(t, 1))
	rapid.Check(t, func(rt *rapid.T) {
		name, value := rapid.String().Draw(rt, "name"), rapid.SliceOf(rapid.Byte()).Draw(rt, "value")
		sealed, err := v.Seal(name, value)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := v.Open(name, sealed)
		if err != nil || !bytes.Equal(got, value) {
			rt.Fatalf("got %q, %v; want %q", got, err, value)
		}
	})
}

func TestS1SealedTextIsOneVersionedLine(t *testing.T) {
	t.Parallel()
	v := vault.New(key(t, 1))
	sealed := seal(t, v, "NAME", "hunter2-hunter2")
	parts := strings.Split(sealed, ".")
	if len(parts) != 4 || parts[0] != "v1" || parts[1] != v.CurrentID() {
		t.Fatalf("sealed text is %q, want v1.%s.x.y", sealed, v.CurrentID())
	}
	for _, r := range sealed {
		if r <= ' ' || r > '~' {
			t.Fatalf("sealed text has %q", r)
		}
	}
	if strings.Contains(sealed, "hunter2") {
		t.Fatal("sealed text shows the value")
	}
}

func TestS1EachSealHasItsOwnDataKey(t *testing.T) {
	t.Parallel()
	v := vault.New(key(t, 1))
	a, b := strings.Split(seal(t, v, "N", "same"), "."), strings.Split(seal(t, v, "N", "same"), ".")
	if a[2] == b[2] || a[3] == b[3] {
		t.Fatal("two seals of one value share their data key or ciphertext")
	}
	// The body of one does not open with the data key of the other.
	got, err := v.Open("N", strings.Join([]string{a[0], a[1], a[2], b[3]}, "."))
	wantErr(t, got, err, vault.ErrBroken)
}

func TestS1ValueSizes(t *testing.T) {
	t.Parallel()
	v := vault.New(key(t, 1))
	for _, size := range []int{0, 1, 64 << 10, 1 << 20} {
		value := strings.Repeat("x", size)
		wantOpen(t, v, "N", seal(t, v, "N", value), value)
	}
	_, err := v.Seal("N", make([]byte, 1<<20+1))
	if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
		t.Fatalf("value above 1 MiB: %v", err)
	}
	got, err := v.Open("N", seal(t, v, "N", "x")+strings.Repeat("A", 2<<20))
	wantErr(t, got, err, vault.ErrBroken)
}

func TestS1OtherNameDoesNotOpen(t *testing.T) {
	t.Parallel()
	v := vault.New(key(t, 2), key(t, 1))
	for _, from := range []*vault.Vault{v, vault.New(key(t, 1))} {
		sealed := seal(t, from, "DEPLOY_KEY", "value")
		for _, name := range []string{"", "DEPLOY_KE", "DEPLOY_KEYS", "deploy_key", "\x00DEPLOY_KEY"} {
			got, err := v.Open(name, sealed)
			wantErr(t, got, err, vault.ErrBroken)
			fresh, changed, err := v.Rewrap(name, sealed)
			if fresh != "" || changed || !errors.Is(err, vault.ErrBroken) {
				t.Fatalf("Rewrap under %q = %q, %v, %v", name, fresh, changed, err)
			}
		}
	}
}

func TestS1EveryChangedCharacterIsRefused(t *testing.T) {
	t.Parallel()
	v := vault.New(key(t, 1))
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n\r\x00\xff"
	for _, value := range []string{"", "a", "ab", "abc"} { // the ends of base64 differ
		sealed := seal(t, v, "NAME", value)
		for i := range len(sealed) {
			for _, c := range []byte(alphabet) {
				if sealed[i] == c {
					continue
				}
				changed := []byte(sealed)
				changed[i] = c
				if got, err := v.Open("NAME", string(changed)); got != nil || !refused(err) {
					t.Fatalf("character %d as %q opens: %q, %v", i, c, got, err)
				}
			}
		}
	}
}

// refused says whether err is one of the two answers to a bad text.
func refused(err error) bool {
	return errors.Is(err, vault.ErrBroken) != errors.Is(err, vault.ErrUnknownKey)
}

func TestS1MisshapenTextIsBroken(t *testing.T) {
	t.Parallel()
	v := vault.New(key(t, 1))
	sealed := seal(t, v, "NAME", "value")
	p := strings.Split(sealed, ".")
	for name, text := range map[string]string{
		"empty":           "",
		"dots":            "...",
		"newer version":   "v2." + strings.Join(p[1:], "."),
		"no version":      strings.Join(p[1:], "."),
		"fifth part":      sealed + ".AAAA",
		"upper case id":   strings.Join([]string{p[0], "ABCDEFABCDEFABCD", p[2], p[3]}, "."),
		"short id":        strings.Join([]string{p[0], p[1][:14], p[2], p[3]}, "."),
		"no data key":     strings.Join([]string{p[0], p[1], "", p[3]}, "."),
		"long data key":   strings.Join([]string{p[0], p[1], p[2] + "AAAA", p[3]}, "."),
		"no body":         strings.Join([]string{p[0], p[1], p[2], ""}, "."),
		"short body":      strings.Join([]string{p[0], p[1], p[2], p[3][:20]}, "."),
		"line break":      sealed + "\n",
		"break in middle": sealed[:40] + "\r\n" + sealed[40:],
		"space":           " " + sealed,
		"padded":          sealed + "=",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := v.Open("NAME", text)
			wantErr(t, got, err, vault.ErrBroken)
			if _, _, err := v.Rewrap("NAME", text); !errors.Is(err, vault.ErrBroken) {
				t.Fatalf("Rewrap: %v", err)
			}
		})
	}
}

func TestS1DamagedValueIsBrokenAfterRewrapToo(t *testing.T) {
	t.Parallel()
	v := vault.New(key(t, 2), key(t, 1))
	sealed := seal(t, vault.New(key(t, 1)), "NAME", "a longer value")
	for _, text := range []string{sealed[:len(sealed)-4], sealed + "AAAA"} {
		got, err := v.Open("NAME", text)
		wantErr(t, got, err, vault.ErrBroken)
		// Rewrap does not look at the value, so a rotation goes on; it must not fix it either.
		fresh, changed, err := v.Rewrap("NAME", text)
		if err != nil || !changed {
			t.Fatalf("Rewrap = %v, %v", changed, err)
		}
		got, err = v.Open("NAME", fresh)
		wantErr(t, got, err, vault.ErrBroken)
	}
}

func TestS1UnknownKeyNamesKeyAndFix(t *testing.T) {
	t.Parallel()
	gone := vault.New(key(t, 1))
	sealed := seal(t, gone, "NAME", "value")
	v := vault.New(key(t, 2))
	got, openErr := v.Open("NAME", sealed)
	wantErr(t, got, openErr, vault.ErrUnknownKey)
	_, _, rewrapErr := v.Rewrap("NAME", sealed)
	wantErr(t, nil, rewrapErr, vault.ErrUnknownKey)
	for _, err := range []error{openErr, rewrapErr} {
		if errors.Is(err, vault.ErrBroken) {
			t.Errorf("%v is both errors", err)
		}
		for _, want := range []string{gone.CurrentID(), "LINESHAFT_MASTER_KEY_OLD", "NAME", "set the value again"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
	}
}

func TestS1SameIDWithoutTheKeyIsBroken(t *testing.T) {
	t.Parallel()
	a, b := vault.New(key(t, 1)), vault.New(key(t, 2))
	forged := strings.Replace(seal(t, a, "NAME", "value"), a.CurrentID(), b.CurrentID(), 1)
	got, err := b.Open("NAME", forged)
	wantErr(t, got, err, vault.ErrBroken)
}

func TestS1RotationRewrapsUntilOldKeyMayGo(t *testing.T) {
	t.Parallel()
	before := vault.New(key(t, 1))
	during := vault.New(key(t, 2), key(t, 1))
	after := vault.New(key(t, 2))
	sealed := seal(t, before, "NAME", "value")
	wantOpen(t, during, "NAME", sealed, "value")

	fresh, changed, err := during.Rewrap("NAME", sealed)
	if err != nil || !changed {
		t.Fatalf("Rewrap = changed %v, %v", changed, err)
	}
	wantOpen(t, after, "NAME", fresh, "value")
	was, is := strings.Split(sealed, "."), strings.Split(fresh, ".")
	if is[1] != after.CurrentID() || is[2] == was[2] || is[3] != was[3] {
		t.Fatalf("rewrap of\n%s gave\n%s: want new id and data key, the same value", sealed, fresh)
	}
	got, err := before.Open("NAME", fresh)
	wantErr(t, got, err, vault.ErrUnknownKey)

	again, changed, err := during.Rewrap("NAME", fresh)
	if err != nil || changed || again != fresh {
		t.Fatalf("second Rewrap = %q, %v, %v; want it unchanged", again, changed, err)
	}
	// What is sealed during the rotation needs no rewrap.
	wantOpen(t, after, "NAME", seal(t, during, "NAME", "next"), "next")
}

func TestS1RewrapRefusesChangedDataKey(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]*vault.Vault{
		"under an old key":      vault.New(key(t, 2), key(t, 1)),
		"under the current key": vault.New(key(t, 1)),
	} {
		p := strings.Split(seal(t, vault.New(key(t, 1)), "NAME", "value"), ".")
		p[2] = strings.Repeat("A", len(p[2]))
		if fresh, changed, err := v.Rewrap("NAME", strings.Join(p, ".")); fresh != "" || changed || !errors.Is(err, vault.ErrBroken) {
			t.Errorf("%s: %q, %v, %v", name, fresh, changed, err)
		}
	}
}

func TestS1CurrentKeyMayAlsoBeListedAsOld(t *testing.T) {
	t.Parallel()
	v := vault.New(key(t, 1), key(t, 1), vault.Key{}, key(t, 2))
	wantOpen(t, v, "N", seal(t, v, "N", "x"), "x")
	if v.CurrentID() != key(t, 1).ID() {
		t.Fatalf("current is %s", v.CurrentID())
	}
}

func TestS1VaultWithoutKeySealsNothing(t *testing.T) {
	t.Parallel()
	sealed := seal(t, vault.New(key(t, 1)), "N", "x")
	for _, v := range []*vault.Vault{{}, vault.New(vault.Key{}), vault.New(vault.Key{}, key(t, 1))} {
		if got, err := v.Seal("N", []byte("value-of-N")); err == nil || got != "" {
			t.Errorf("Seal = %q, %v", got, err)
		}
		if got, _, err := v.Rewrap("N", sealed); err == nil || got != "" {
			t.Errorf("Rewrap = %q, %v", got, err)
		}
	}
	got, err := new(vault.Vault).Open("N", sealed)
	wantErr(t, got, err, vault.ErrUnknownKey)
}

// stored holds the format: such texts are in databases. Key 7, name DEPLOY_KEY.
const stored = "v1.e6cd181ff22c5537.ofD9iBcBOfWxEfkpZuo7bOvwtH50_5GwsXk_B6zLSDni1dwSQyUqbh79VT-4DaH892GdNpnon7Dq_gE2.tIeeTKfJzO6zUeoEw_tlDBoYTqPLAn5C4-CKR9Yqjk_LPYCdSbUci6fi9mRQfnwnb_mSP0Cu2oE"

func TestS1StoredTextStillOpens(t *testing.T) {
	t.Parallel()
	wantOpen(t, vault.New(key(t, 7)), "DEPLOY_KEY", stored, "written by the first version")
}

func FuzzOpen(f *testing.F) {
	v := vault.New(key(f, 2), key(f, 7))
	f.Add("DEPLOY_KEY", stored)
	f.Add("OTHER", stored)
	f.Add("DEPLOY_KEY", stored[:len(stored)-4])
	f.Add("DEPLOY_KEY", seal(f, vault.New(key(f, 3)), "DEPLOY_KEY", "x"))
	f.Add("", "v1...")
	f.Fuzz(func(t *testing.T, name, text string) {
		// A text sealed here cannot be a seed: the fuzzer's processes would each have another.
		own := name == "DEPLOY_KEY" && text == stored
		if _, err := v.Open(name, text); (err == nil) != own || err != nil && !refused(err) {
			t.Fatalf("Open(%q, %q): %v", name, text, err)
		}
		fresh, _, err := v.Rewrap(name, text)
		if err != nil {
			if own || !refused(err) {
				t.Fatalf("Rewrap(%q, %q): %v", name, text, err)
			}
			return
		}
		// Rewrap does not look at the value, so it takes what Open refuses; it must not fix it.
		if got, err := v.Open(name, fresh); (err == nil) != own {
			t.Fatalf("rewrap of %q opens as %q, %v", text, got, err)
		}
	})
}
