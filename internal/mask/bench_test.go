package mask_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/lineshaft/lineshaft/internal/mask"
)

func fiveSecrets() map[string]string {
	out := map[string]string{}
	for i := range 5 {
		sum := sha256.Sum256([]byte{byte(i)})
		out[fmt.Sprintf("SECRET_%d", i)] = "sk-" + base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return out
}

// The inputs are what agents print: prose and code, JSON, and the worst case for
// base64, more base64.
func inputs() map[string][]byte {
	prose := []byte("The worker claims a run under a lease; if err != nil { return fmt.Errorf(\"claim run: %w\", err) }\n")
	encoded := make([]byte, 0, 1<<20)
	for i := 0; len(encoded) < 1<<20; i++ {
		sum := sha256.Sum256(fmt.Append(nil, i))
		encoded = append(base64.StdEncoding.AppendEncode(encoded, append(sum[:], sum[:25]...)), '\n')
	}
	object := []byte(`{"type":"item.completed","item":{"id":"item_42","type":"command_execution","exit_code":0,"status":"completed"}}` + "\n")
	return map[string][]byte{
		"text":   bytes.Repeat(prose, 1<<20/len(prose)),
		"json":   bytes.Repeat(object, 1<<20/len(object)),
		"base64": encoded,
	}
}

func BenchmarkStream(b *testing.B) {
	m := mask.New(fiveSecrets())
	for name, text := range inputs() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s := m.Stream()
				for rest := text; len(rest) > 0; rest = rest[min(32<<10, len(rest)):] {
					s.Write(rest[:min(32<<10, len(rest))])
				}
				s.Flush()
			}
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	m := mask.New(fiveSecrets())
	line := inputs()["json"][:112]
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		m.JSON(line)
	}
}

func BenchmarkNew(b *testing.B) {
	secrets := fiveSecrets()
	for b.Loop() {
		mask.New(secrets)
	}
}
