package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestX6Blocks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prompt string
		want         []Block
	}{
		{"none", "please fix the bug", nil},
		{"empty", "", nil},
		{"one", "Do:\n```sh\necho hi\n```\n", []Block{{"sh", "echo hi\n", 2}}},
		{"two in order", "```bash\na\n```\ntext\n```sh\nb\n```", []Block{{"bash", "a\n", 1}, {"sh", "b\n", 5}}},
		{"shell is sh", "```shell\na\n```", []Block{{"sh", "a\n", 1}}},
		{"upper case", "```Bash\na\n```", []Block{{"bash", "a\n", 1}}},
		{"tildes", "~~~sh\na\n~~~", []Block{{"sh", "a\n", 1}}},
		{"info words", "``` sh title=\"x\"\na\n```", []Block{{"sh", "a\n", 1}}},
		{"other language", "```python\nprint(1)\n```", nil},
		{"no language", "```\nls\n```", nil},
		{"prefix of a language", "```shellscript\nls\n```", nil},
		{"two backticks", "``sh\nls\n``", nil},
		{"longer closing", "```sh\na\n`````", []Block{{"sh", "a\n", 1}}},
		{"shorter closing", "````sh\na\n```\nb\n````", []Block{{"sh", "a\n```\nb\n", 1}}},
		{"other closing", "```sh\na\n~~~\nb\n```", []Block{{"sh", "a\n~~~\nb\n", 1}}},
		{"closing with info", "```sh\na\n``` sh\nb\n```", []Block{{"sh", "a\n``` sh\nb\n", 1}}},
		{"closing with spaces", "```sh\na\n   ```  \t", []Block{{"sh", "a\n", 1}}},
		{"closing too far in", "```sh\na\n    ```\nb\n```", []Block{{"sh", "a\n    ```\nb\n", 1}}},
		{"unclosed", "```sh\na\nb", []Block{{"sh", "a\nb\n", 1}}},
		{"unclosed and empty", "```sh", []Block{{"sh", "", 1}}},
		{"indented opening", "  ```sh\n  a\n    b\n c\n```", []Block{{"sh", "a\n  b\nc\n", 1}}},
		{"indented code", "    ```sh\n    a\n    ```", nil},
		{"tab is too far", "\t```sh\na\n\t```", nil},
		{"backtick in info", "```sh `x`\na\n```", nil},
		{"backtick in tilde info", "~~~sh `x`\na\n~~~", []Block{{"sh", "a\n", 1}}},
		{"carriage returns", "```sh\r\na\r\nb\r\n```\r\n", []Block{{"sh", "a\nb\n", 1}}},
		{"hidden in another block", "~~~~markdown\n```sh\nrm -rf x\n```\n~~~~\n", nil},
		{"blank lines kept", "```sh\n\na\n\n```", []Block{{"sh", "\na\n\n", 1}}},
		{"empty block", "```sh\n```", []Block{{"sh", "", 1}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := Blocks(test.prompt); !slices.Equal(got, test.want) {
				t.Errorf("Blocks(%q) = %+v, want %+v", test.prompt, got, test.want)
			}
		})
	}
}

func FuzzX6Blocks(f *testing.F) {
	for _, seed := range []string{"```sh\na\n```", "~~~bash x\n```\n~~~", "  ```sh\n  a", "\r```sh\r\n`", "````\n```sh\n````"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		total := 0
		for _, block := range Blocks(prompt) {
			total += len(block.Script)
			if block.Program != "sh" && block.Program != "bash" {
				t.Errorf("program %q", block.Program)
			}
			if block.Script != "" && !strings.HasSuffix(block.Script, "\n") {
				t.Errorf("script %q lost its last line ending", block.Script)
			}
			if block.Line < 1 {
				t.Errorf("line %d", block.Line)
			}
		}
		if total > len(prompt)+1 {
			t.Errorf("blocks hold %d bytes of a prompt of %d", total, len(prompt))
		}
		// Closing what is open and quoting everything in a longer fence hides every block.
		longest := strings.Repeat("`", len(prompt)+4)
		if hidden := Blocks(longest + "text\n" + prompt); len(hidden) != 0 {
			t.Errorf("a fenced text still ran %d blocks", len(hidden))
		}
	})
}
